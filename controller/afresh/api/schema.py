"""Converts a pydantic model to a structural schema for a CustomResourceDefinition.

The converter raises an error for every keyword of pydantic's JSON schema that it does not know, so
that no constraint of a model is lost in the conversion.
"""

from typing import Any

from pydantic import BaseModel

from afresh.api.rules import LIST_TYPE, VALIDATIONS

Schema = dict[str, Any]

_PRESERVE_UNKNOWN = "x-kubernetes-preserve-unknown-fields"

_KEPT = frozenset(
    {
        "type", "format", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum",
        "minItems", "maxItems", "maxProperties", "required", "description", "default",
    }
)  # fmt: skip
_DROPPED = frozenset({"title"})
_NULL = {"type": "null"}

VALIDATION_KEYS = ("rule", "message", "messageExpression", "fieldPath")


_ORDER = ("description", "type", "x-kubernetes-int-or-string", "default", "enum", "format")


class SchemaError(ValueError):
    """A model has a constraint that a structural schema cannot express, or an unbounded field."""


def structural_schema(model: type[BaseModel]) -> Schema:
    """Return the schema of `model` under YAML names. Raises SchemaError naming the field."""
    raw = model.model_json_schema(by_alias=True, mode="validation")
    return _Converter(raw.pop("$defs", {})).convert(raw, model.__name__)


def without_defaults(schema: Schema) -> Schema:
    """Return a copy of the schema without defaults.

    The schema of a status must have none: the API server would add fields that nobody wrote.
    """
    kept = {key: value for key, value in schema.items() if key != "default"}
    for key in ("items", "additionalProperties"):
        if key in kept:
            kept[key] = without_defaults(kept[key])
    if "properties" in kept:
        kept["properties"] = {
            name: without_defaults(field) for name, field in kept["properties"].items()
        }
    return kept


class _Converter:
    """One conversion, with the definitions to which references point."""

    def __init__(self, definitions: dict[str, Schema]) -> None:
        self._definitions = definitions

    def convert(self, node: Schema, where: str) -> Schema:
        node = self._resolved(node, where)
        schema: Schema = {}
        for key, value in node.items():
            schema |= self._converted(key, value, where)
        if isinstance(schema.get("default"), dict):
            schema |= {"default": {}}  # the defaults of its fields fill it
            if not _has_defaults(schema):
                del schema["default"]
        _check_bounds(schema, where)
        if schema.get("type") == "array":
            schema.setdefault(LIST_TYPE, "atomic")
        return _described(_ordered(schema))

    def _resolved(self, node: Schema, where: str) -> Schema:
        """Return the node with references resolved and without the alternative null.

        A structural schema does not need null: a field that is None is absent.
        """
        while "$ref" in node or "anyOf" in node:
            siblings = {key: value for key, value in node.items() if key not in {"$ref", "anyOf"}}
            if "$ref" in node:
                target = self._definitions[node["$ref"].rsplit("/", 1)[1]]
            else:
                target = _only_alternative(node["anyOf"], where)
            if VALIDATIONS in target and VALIDATIONS in siblings:
                raise SchemaError(f"{where}: both the field and its type have rules")
            node = target | siblings
        return node

    def _converted(self, key: str, value: Any, where: str) -> Schema:
        if key in _DROPPED or (key == "default" and value in (None, [], "")):
            return {}
        if key == "const":
            return {"enum": [value]}
        if key == "items":
            return {"items": self.convert(value, f"{where}[]")}
        if key == "properties":
            return {
                "properties": {
                    name: self.convert(field, f"{where}.{name}") for name, field in value.items()
                }
            }
        if key == "additionalProperties":
            return self._map_values(value, where)
        if key == VALIDATIONS:
            return {key: [_rule_first(entry) for entry in value]}
        if key in _KEPT or key.startswith("x-kubernetes-"):
            return {key: value}
        raise SchemaError(f"{where}: a structural schema has no {key}")

    def _map_values(self, values: Schema | bool, where: str) -> Schema:
        if values is True:
            return {_PRESERVE_UNKNOWN: True}
        if isinstance(values, bool):
            raise SchemaError(
                f"{where}: the API server cannot forbid unknown fields, only drop them"
            )
        return {"additionalProperties": self.convert(values, f"{where}{{}}")}


def _only_alternative(alternatives: list[Schema], where: str) -> Schema:
    kept = [alternative for alternative in alternatives if alternative != _NULL]
    if len(kept) != 1:
        raise SchemaError(f"{where}: a structural schema cannot choose between types")
    return kept[0]


def _check_bounds(schema: Schema, where: str) -> None:
    """Raise SchemaError if the schema has no bound: the cost of CEL rules depends on the bounds."""
    bounded = {
        "string": schema.keys() & {"maxLength", "enum", "format"},
        "array": "maxItems" in schema,
        "object": "additionalProperties" not in schema or "maxProperties" in schema,
    }
    if not bounded.get(schema.get("type", ""), True):
        raise SchemaError(f"{where}: has no upper bound")


def _has_defaults(schema: Schema) -> bool:
    return any("default" in field for field in schema.get("properties", {}).values())


def _described(schema: Schema) -> Schema:
    if "description" in schema:
        schema["description"] = " ".join(schema["description"].split())
    return schema


def _rule_first(entry: dict[str, str]) -> dict[str, str]:
    return {key: entry[key] for key in VALIDATION_KEYS if key in entry}


def _ordered(schema: Schema) -> Schema:
    """Return the schema with the keys that a reader looks for at the beginning."""
    head = {key: schema[key] for key in _ORDER if key in schema}
    return head | {key: value for key, value in schema.items() if key not in head}

"""The tables of fields on the pages of the three kinds, from the schemas of the CRDs.

Knows the format of structural schemas. The descriptions come from the models.
"""

from collections.abc import Iterator
from typing import Any

from afresh.api.crd import KINDS, KindNames, build_crd
from afresh.api.resources import MONEY_PATTERN
from afresh.api.rules import VALIDATIONS

Schema = dict[str, Any]

_LONGEST_DEFAULT = 40
_NEVER_NEGATIVE = {"quantity", "US dollars"}  # types whose bounds are self-evident
_UNITS = ("minLength", "maxLength", "characters"), ("minItems", "maxItems", "entries")


class UndescribedError(ValueError):
    """A field has no description."""


def fields(kind_name: str, part: str) -> str:
    """Return the table of `spec` or `status` of a kind. Raises UndescribedError naming the field.

    Paths are relative to the part; `[]` stands for the entries of a list, `.*` for the values of a
    map. A bold path is required if its parent is given.
    """
    schema = _schema(kind_name)["properties"][part]
    rows = [
        f"| {_path(path, required=required)} | {_type_and_bounds(field)} "
        f"| {_described(path, field)} |"
        for path, field, required in _walk(schema, "")
    ]
    head = ["| field | type, bounds, default | meaning |", "|---|---|---|"]
    return "\n".join([*head, *rows])


def refusals(kind_name: str) -> str:
    """Return the list of the validation rules beyond types and bounds, by their messages."""
    found = dict.fromkeys(
        entry["message"]
        for node in _nodes(_schema(kind_name))
        for entry in node.get(VALIDATIONS, ())
    )
    return "\n".join(f"- {_cell(message)}" for message in found)


def columns(kind_name: str) -> str:
    """Return the table of the columns that `kubectl get` shows for a kind."""
    rows = [f"| {name.upper()} | `{path}` |" for name, _, path in _kind(kind_name).columns]
    return "\n".join(["| column | from |", "|---|---|", *rows])


def _kind(name: str) -> KindNames:
    return next(kind for kind in KINDS if kind.name == name)


def _schema(kind_name: str) -> Schema:
    version = build_crd(_kind(kind_name))["spec"]["versions"][0]
    return dict(version["schema"]["openAPIV3Schema"])


def _walk(schema: Schema, at: str) -> Iterator[tuple[str, Schema, bool]]:
    required = schema.get("required", ())
    path = f"{at}." if at else ""
    for name, field in schema.get("properties", {}).items():
        yield path + name, field, name in required
        yield from _walk(field, f"{path}{name}")
    if isinstance(items := schema.get("items"), dict):
        yield from _walk(items, f"{at}[]")
    if isinstance(values := schema.get("additionalProperties"), dict):
        yield from _walk(values, f"{at}.*")


def _nodes(schema: Schema) -> Iterator[Schema]:
    yield schema
    children = [*schema.get("properties", {}).values()]
    children += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    for child in children:
        if isinstance(child, dict):
            yield from _nodes(child)


def _path(path: str, *, required: bool) -> str:
    return f"**`{path}`**" if required else f"`{path}`"


def _type_and_bounds(field: Schema) -> str:
    """Return type, bounds and default in one cell: five columns would be too wide for a page."""
    default = f"default {value}" if (value := _default(field)) else ""
    return "; ".join(filter(None, (_type(field), _bounds(field), default)))


def _type(field: Schema) -> str:
    if field.get("x-kubernetes-int-or-string"):
        return "quantity"
    if field.get("pattern") == MONEY_PATTERN:
        return "US dollars"
    if field.get("type") == "array":
        return f"list of {_type(field['items'])}s"
    if isinstance(values := field.get("additionalProperties"), dict):
        return f"map of {_type(values)}s"
    return "time" if field.get("format") == "date-time" else str(field.get("type", "object"))


def _default(field: Schema) -> str:
    value = field.get("default")
    if value is None or value == {}:
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text[:_LONGEST_DEFAULT]}`"


def _bounds(field: Schema) -> str:
    said = []
    if _type(field) in _NEVER_NEGATIVE:
        return ""
    if "enum" in field:
        said.append(", ".join(f"`{value}`" for value in field["enum"]))
    if "minimum" in field or "maximum" in field:
        said.append(_range(field.get("minimum"), field.get("maximum")))
    for least, most, unit in _UNITS:
        if least in field or most in field:
            said.append(f"{_range(field.get(least), field.get(most))} {unit}")
    if "maxProperties" in field:
        said.append(f"at most {field['maxProperties']} entries")
    return "; ".join(said)


def _range(least: int | None, most: int | None) -> str:
    if most is None:
        return f"at least {least}"
    if not least and least != 0:
        return f"at most {most}"
    return f"{least} to {most}"


def _described(path: str, field: Schema) -> str:
    described = field.get("description")
    if not described:
        raise UndescribedError(
            f"the field {path} has no description: write it below the field in afresh.api"
        )
    return _cell(described)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")

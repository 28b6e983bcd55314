"""What the schema of the CRD says about an object's shape. Pure.

The models read objects of newer versions too, so they ignore a field that they do not know; the API
server refuses it when a person writes it, and so does this. The bounds of values are the models'.
"""

from collections.abc import Iterator
from typing import Any

from afresh.api.rules import LIST_MAP_KEYS, LIST_TYPE
from afresh.api.schema import Schema
from afresh.cli.manifest.findings import Path, meant

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_PRESERVE_UNKNOWN = "x-kubernetes-preserve-unknown-fields"


def shape_faults(value: Any, schema: Schema, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield every unknown field, wrong type, duplicate item and wrong number of items."""
    if value is None:
        # As the API server does: a default takes its place.
        if schema.get("type") and "default" not in schema:
            yield path, f'Invalid value: "null": must be of type {schema["type"]}'
        return
    wanted = schema.get("type")
    if wanted and not _is_of(value, wanted):
        yield path, f'Invalid value: "{_name_of(value)}": must be of type {wanted}'
        return
    if isinstance(value, dict | list):
        yield from _size_faults(value, schema, path)
    if isinstance(value, list):
        yield from _duplicates(value, schema, path)
        for index, item in enumerate(value):
            yield from shape_faults(item, schema.get("items", {}), (*path, index))
    if isinstance(value, dict):
        yield from _field_faults(value, schema, path)


def without_nulls(value: Any, schema: Schema) -> Any:
    """Return a copy without the nulls whose place a default takes, as the API server does."""
    if isinstance(value, list):
        return [without_nulls(item, schema.get("items", {})) for item in value]
    if not isinstance(value, dict):
        return value
    fields: Schema = schema.get("properties", {})
    return {
        key: without_nulls(item, fields.get(key, {}))
        for key, item in value.items()
        if item is not None or "default" not in fields.get(key, {})
    }


def _field_faults(value: dict[str, Any], schema: Schema, path: Path) -> Iterator[tuple[Path, str]]:
    fields: Schema | None = schema.get("properties")
    for key, item in value.items():
        if fields is None:
            yield from shape_faults(item, schema.get("additionalProperties", {}), (*path, key))
        elif key in fields:
            yield from shape_faults(item, fields[key], (*path, key))
        elif not schema.get(_PRESERVE_UNKNOWN):
            yield (*path, key), f"unknown field{meant(key, list(fields))}"


def _size_faults(
    value: dict[str, Any] | list[Any], schema: Schema, path: Path
) -> Iterator[tuple[Path, str]]:
    fewest, count = schema.get("minItems", 0), len(value)
    most = schema.get("maxItems", schema.get("maxProperties"))
    if count < fewest:
        yield path, f"Invalid value: {count}: should have at least {fewest} items"
    if most is not None and count > most:
        yield path, f"Too many: {count}: must have at most {most} items"


def _duplicates(items: list[Any], schema: Schema, path: Path) -> Iterator[tuple[Path, str]]:
    kind = schema.get(LIST_TYPE)
    if kind not in ("map", "set"):
        return
    seen = set()
    for index, item in enumerate(items):
        key = repr(item) if kind == "set" else _map_key(item, schema[LIST_MAP_KEYS])
        if key is not None and key in seen:
            yield (*path, index), f"Duplicate value: {key}; remove one of the two"
        seen.add(key)


def _map_key(item: Any, keys: list[str]) -> str | None:
    if not isinstance(item, dict) or not all(key in item for key in keys):
        return None
    return ", ".join(f"{key} {item[key]!r}" for key in keys)


def _is_of(value: Any, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    return isinstance(value, _TYPES[wanted])


def _name_of(value: Any) -> str:
    return next(name for name in _TYPES if _is_of(value, name))

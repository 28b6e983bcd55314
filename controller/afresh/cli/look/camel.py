"""Makes plain JSON values of dataclasses: names as YAML has them. Pure."""

from dataclasses import asdict
from typing import Any

from afresh.api.rules import camel_case


def camel_cased(item: Any) -> dict[str, Any]:
    """Return the fields of a dataclass under camelCase names, at every depth."""
    fields: dict[str, Any] = _renamed(asdict(item))
    return fields


def _renamed(value: Any) -> Any:
    if isinstance(value, dict):
        return {camel_case(key): _renamed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(item) for item in value]
    return value

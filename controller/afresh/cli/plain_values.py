"""Facts as plain JSON values under camelCase names. Pure."""

from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from afresh.api.rules import camel_case


def plain_value(value: Any) -> Any:
    """Return dataclasses as objects, times in UTC as RFC 3339 texts, amounts as numbers."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            camel_case(item.name): plain_value(getattr(value, item.name)) for item in fields(value)
        }
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, tuple | list):
        return [plain_value(item) for item in value]
    return value

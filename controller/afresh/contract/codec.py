"""Encodes frozen dataclasses as JSON and decodes them: camelCase names, defaults left out.

Owns the wire form of the contract; unknown fields are ignored. Knows no particular message.
"""

import json
import types
import typing
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


class ContractError(ValueError):
    """A message that is not of the form that this version of the contract promises."""


def dumps(message: object) -> str:
    """Return `message` as compact JSON; fields equal to their defaults are left out.

    Half a surrogate pair, which no encoding can hold, becomes a question mark.
    """
    text = json.dumps(encode(message), separators=(",", ":"), ensure_ascii=False)
    return text.encode(errors="replace").decode()


def loads(kind: type[T], text: str) -> T:
    """Parse `text` as a `kind`. Raises ContractError naming the field that is wrong."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ContractError(f"{kind.__name__} is not JSON: {error}") from error
    return decode(kind, data)


def encode(value: object) -> Any:
    """Turn dataclasses into plain JSON values."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            camel(field.name): encode(item)
            for field in fields(value)
            if (item := getattr(value, field.name)) != _default(field)
        }
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    return str(value) if isinstance(value, StrEnum) else value


def decode(kind: type[T], data: object) -> T:
    """Build a `kind` from plain JSON values. Raises ContractError naming the field."""
    value = _read(kind, data, kind.__name__)
    return typing.cast("T", value)


def camel(name: str) -> str:
    """Return the wire name of a field: `base_ref` becomes `baseRef`."""
    head, *tail = name.split("_")
    return head + "".join(part.title() for part in tail)


def _default(field: Field[Any]) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _read(kind: Any, data: object, where: str) -> object:
    if is_dataclass(kind) and isinstance(kind, type):
        return _read_dataclass(kind, data, where)
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return _read_optional(kind, data, where)
    if origin is tuple:
        return _read_tuple(kind, data, where)
    if origin is dict:
        return _read_dict(kind, data, where)
    return _read_scalar(kind, data, where)


def _read_dataclass(kind: type, data: object, where: str) -> object:
    if not isinstance(data, dict):
        raise ContractError(f"{where} must be an object")
    values: dict[str, object] = {}
    for field in fields(kind):
        name = camel(field.name)
        if name in data:
            values[field.name] = _read(_hints(kind)[field.name], data[name], f"{where}.{name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ContractError(f"{where}.{name} is missing")
    return kind(**values)


def _read_optional(kind: Any, data: object, where: str) -> object:
    if data is None:
        return None
    (inner,) = (arg for arg in typing.get_args(kind) if arg is not types.NoneType)
    return _read(inner, data, where)


def _read_tuple(kind: Any, data: object, where: str) -> object:
    if not isinstance(data, list):
        raise ContractError(f"{where} must be a list")
    item = typing.get_args(kind)[0]
    return tuple(_read(item, value, f"{where}[{index}]") for index, value in enumerate(data))


def _read_dict(kind: Any, data: object, where: str) -> object:
    if not isinstance(data, dict):
        raise ContractError(f"{where} must be an object")
    item = typing.get_args(kind)[1]
    return {key: _read(item, value, f"{where}.{key}") for key, value in data.items()}


def _read_scalar(kind: Any, data: object, where: str) -> object:
    if issubclass(kind, StrEnum):
        try:
            return kind(data)
        except ValueError as error:
            raise ContractError(f"{where}: {data!r} is not one of {', '.join(kind)}") from error
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return _float_of(data, where)
    if not isinstance(data, kind) or (kind is int and isinstance(data, bool)):
        raise ContractError(f"{where} must be of type {kind.__name__}")
    return data


def _float_of(number: int, where: str) -> float:
    try:
        return float(number)
    except OverflowError as error:
        raise ContractError(f"{where} is too large for a float") from error

"""The tables of the Order and the Report, from the dataclasses that cross the pod's boundary.

Knows how dataclasses are written as JSON; `tools.docsgen.contract_words` has the descriptions.
"""

import types
import typing
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from typing import Any

from afresh.contract.codec import camel
from tools.docsgen.contract_words import MEANINGS
from tools.docsgen.fields_table import UndescribedError

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}
_HEAD = "| field | type, default | meaning |\n|---|---|---|"


def render(message: type) -> str:
    """Return a table for `message` and one for each object in it.

    Raises UndescribedError for a field without a description, or a description without a field.
    """
    return "\n\n".join(_section(kind, is_first=kind is message) for kind in _kinds(message))


def _kinds(message: type) -> list[type]:
    """Return the message and the objects in it, each once, in the order of their fields."""
    found = [message]
    for kind in found:
        for hint in typing.get_type_hints(kind).values():
            inner = _inner(hint)
            if is_dataclass(inner) and inner not in found:
                found.append(typing.cast("type", inner))
    return found


def _inner(hint: Any) -> Any:
    """Return the innermost type of a hint, without optional, list or mapping around it."""
    arguments = [item for item in typing.get_args(hint) if item not in (types.NoneType, Ellipsis)]
    return _inner(arguments[-1]) if arguments else hint


def _section(kind: type, *, is_first: bool) -> str:
    head = "" if is_first else f"### {kind.__name__}\n\n"
    return "\n".join([head + _HEAD, *_rows(kind)])


def _rows(kind: type) -> Iterator[str]:
    hints = typing.get_type_hints(kind)
    meanings = dict(MEANINGS.get(kind, {}))
    for field in fields(kind):
        name = camel(field.name)
        meaning = meanings.pop(name, "")
        if not meaning:
            raise UndescribedError(f"{kind.__name__}.{name} has no entry in contract_words.py")
        is_required = field.default is MISSING and field.default_factory is MISSING
        shown = f"**`{name}`**" if is_required else f"`{name}`"
        yield f"| {shown} | {_type(hints[field.name])}{_default(field)} | {meaning} |"
    if meanings:
        raise UndescribedError(f"{kind.__name__} has no {', '.join(meanings)}: see contract_words")


def _type(hint: Any) -> str:
    inner = _inner(hint)
    if is_dataclass(inner) and isinstance(inner, type):
        word = f"[{inner.__name__}](#{inner.__name__.lower()})"
    elif isinstance(inner, type) and issubclass(inner, StrEnum):
        word = ", ".join(f"`{value}`" for value in inner)
    else:
        word = _PLAIN[inner]
    origins = {typing.get_origin(hint)} | {typing.get_origin(arg) for arg in typing.get_args(hint)}
    if not origins & {tuple, dict}:
        return word
    many = f"{word}s" if inner in _PLAIN else word
    return f"list of {many}" if tuple in origins else f"map of {many}"


def _default(field: Field[Any]) -> str:
    if field.default in (MISSING, None, "", ()):
        return ""
    text = str(field.default)
    return f"; default `{text.lower() if isinstance(field.default, bool) else text}`"

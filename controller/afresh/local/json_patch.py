"""Applies a JSON patch (RFC 6902) to a document: the operations test, add and remove. Pure."""

import copy
from collections.abc import Iterable
from typing import Any

Operation = dict[str, Any]
_ABSENT: Any = object()


class PatchConflictError(Exception):
    """The document is no longer what the patch rests on."""


def patched(document: Any, operations: Iterable[Operation]) -> Any:
    """Return a changed copy. Raises PatchConflictError; then nothing has changed."""
    changed = copy.deepcopy(document)
    for operation in operations:
        path = [_unescaped(part) for part in operation["path"].split("/")[1:]]
        _do(changed, operation, path)
    return changed


def _do(document: Any, operation: Operation, path: list[str]) -> None:
    parent = document
    for part in path[:-1]:
        parent = _at(parent, part)
    last, there = path[-1], _at(parent, path[-1])
    match operation["op"]:
        case "test":
            # As the API server does, null stands for nothing at all.
            if (None if there is _ABSENT else there) != operation["value"]:
                raise PatchConflictError(operation["path"])
        case "add" if isinstance(parent, list):
            parent.insert(len(parent) if last == "-" else int(last), operation["value"])
        case "add" if isinstance(parent, dict):
            parent[last] = operation["value"]
        case "remove" if there is not _ABSENT:
            del parent[int(last) if isinstance(parent, list) else last]
        case _:
            raise PatchConflictError(operation["path"])


def _at(parent: Any, part: str) -> Any:
    if isinstance(parent, dict):
        return parent.get(part, _ABSENT)
    if isinstance(parent, list) and part.isdigit() and int(part) < len(parent):
        return parent[int(part)]
    return _ABSENT


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")

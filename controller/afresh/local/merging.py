"""Merges a manifest into what is stored, so that what commands have changed since stays.

Pure. As with `kubectl apply`, three sides count: what was applied last, what is stored, and what is
applied now. A field that the manifest does not change keeps its stored value.
"""

from typing import Any

# By which the items of a list of objects are recognized.
KEYS = {"subtasks": "id", "env": "name", "submodules": "path"}
# Lists of texts to which commands add; any other list is one value.
SETS = frozenset({"guidance"})
_ABSENT: Any = object()


def merged(last: Any, stored: Any, applied: Any) -> Any:
    """Return the value that the three sides make: `last` and `stored` may be None."""
    return _merged("", last or {}, stored or {}, applied)


def without_nulls(value: Any) -> Any:
    """Return the value without fields that are null, which stand for nothing."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def _merged(name: str, last: Any, stored: Any, applied: Any) -> Any:
    if isinstance(applied, dict):
        return _merged_object(_or_empty(last, {}), _or_empty(stored, {}), applied)
    if isinstance(applied, list) and name in KEYS:
        return _merged_list(KEYS[name], _or_empty(last, []), _or_empty(stored, []), applied)
    if isinstance(applied, list) and name in SETS:
        known = [*_or_empty(last, []), *applied]
        return applied + [item for item in _or_empty(stored, []) if item not in known]
    return applied if stored is _ABSENT or applied != last else stored


def _or_empty(value: Any, empty: Any) -> Any:
    return value if isinstance(value, type(empty)) else empty


def _merged_object(
    last: dict[str, Any], stored: dict[str, Any], applied: dict[str, Any]
) -> dict[str, Any]:
    kept = {key: value for key, value in stored.items() if key not in last and key not in applied}
    return {
        key: _merged(key, last.get(key, _ABSENT), stored.get(key, _ABSENT), value)
        for key, value in applied.items()
    } | kept


def _merged_list(key: str, last: list[Any], stored: list[Any], applied: list[Any]) -> list[Any]:
    """The order is the manifest's; what others have added comes after it."""
    known, there = ({item.get(key): item for item in items} for items in (last, stored))
    mine = [
        _merged("", known.get(item.get(key), _ABSENT), there.get(item.get(key), _ABSENT), item)
        for item in applied
    ]
    named = {item.get(key) for item in applied}
    return mine + [item for name, item in there.items() if name not in named and name not in known]

"""An object as written, seen through its model, so that rules can be asked although parts are bad.

Pure. A model that cannot be built has no rules that hold or do not; here a rule is left out only
where it needs a value that is bad itself.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Annotated, Any, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from afresh.api.meta import ApiModel
from afresh.cli.manifest.findings import Path


class BadPartError(Exception):
    """A rule needs a value that is absent or bad, which is said already."""


class BadPart:
    """A value that is there but bad: it can be asked for nothing but its presence."""

    def __getattr__(self, name: str) -> Any:
        raise BadPartError(name)

    def __iter__(self) -> Iterator[Any]:
        raise BadPartError

    def __len__(self) -> int:
        raise BadPartError

    def __eq__(self, other: object) -> bool:
        raise BadPartError

    def __bool__(self) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class RawView:
    """One object with the attributes of its model, the model's defaults included."""

    def __init__(self, model: type[ApiModel], data: dict[str, Any], path: Path) -> None:
        self.model = model
        self.path = path
        self._data = data

    def __getattr__(self, name: str) -> Any:
        info = self.model.model_fields.get(name)
        if info is None:
            raise BadPartError(name)
        value = self._data.get(info.alias or name)
        if value is None:
            if info.is_required():
                raise BadPartError(name)
            return info.get_default(call_default_factory=True)
        inner = model_in(info.annotation)
        if inner:
            return _seen(value, info.annotation, inner, (*self.path, info.alias or name))
        try:
            return _parser(self.model, name).validate_python(value)
        except ValidationError:
            return BadPart()

    def inner(self) -> Iterator["RawView"]:
        """Yield the objects inside this one that have a model."""
        for info in self.model.model_fields.values():
            value = self._data.get(info.alias or "")
            inner = model_in(info.annotation)
            for path, item in _with_paths(value, (*self.path, info.alias or "")):
                if inner and isinstance(item, dict):
                    yield RawView(inner, item, path)


def _seen(value: Any, annotation: Any, inner: type[ApiModel], path: Path) -> Any:
    if not _is_list(annotation):
        return RawView(inner, value, path) if isinstance(value, dict) else BadPart()
    if not isinstance(value, list):
        return BadPart()
    return tuple(
        RawView(inner, item, (*path, index)) if isinstance(item, dict) else BadPart()
        for index, item in enumerate(value)
    )


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is tuple or any(map(_is_list, get_args(annotation)))


@functools.cache
def _parser(model: type[ApiModel], name: str) -> TypeAdapter[Any]:
    info = model.model_fields[name]
    wanted: Any = info.annotation
    for part in info.metadata:
        wanted = Annotated[wanted, part]
    return TypeAdapter(wanted)


def _with_paths(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield (*path, index), item
    else:
        yield path, value


def model_in(annotation: Any) -> type[ApiModel] | None:
    """Return the model that a field holds, alone or in a list; None if it holds plain values."""
    if isinstance(annotation, type) and issubclass(annotation, ApiModel):
        return annotation
    found = (model_in(part) for part in get_args(annotation))
    return next((model for model in found if model), None)


def broken_rules(view: RawView, is_told: Callable[[str], bool]) -> Iterator[tuple[Path, str]]:
    """Yield the rules that `view` and what is inside it break, except those told otherwise."""
    for rule in view.model.RULES:
        if rule.holds and not is_told(rule.message) and not _holds(rule.holds, view):
            fields = tuple(part for part in (rule.field_path or "").split(".") if part)
            yield (*view.path, *fields), rule.message
    for inner in view.inner():
        yield from broken_rules(inner, is_told)


def _holds(holds: Callable[[Any], bool], view: RawView) -> bool:
    try:
        return holds(view)
    except (BadPartError, TypeError, ValueError):
        return True  # what the rule needs is bad itself

"""Builds the JSON patch that a request and the stored package lead to. Pure.

Every patch tests the values that it depends on, so that the API server refuses it if they have
changed meanwhile. It touches no other field.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, assert_never

from afresh.api.meta import ApiModel
from afresh.api.phases import PackagePhase, RevisionReason, SubtaskPhase
from afresh.api.rules import camel_case
from afresh.api.subtask import SubtaskEntry
from afresh.api.work_package import CANCEL_ANNOTATION, RETRY_ANNOTATION, WorkPackage
from afresh.cli.requests import Cancel, CommandError, Guide, Request, Retry, Skip, Suspend

MAX_DIRECTIVES = 20

Operation = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of one package, its message, and its lines for a manifest.

    Without operations nothing needs to change. `annotations` are requests to the operator, which
    no manifest keeps.
    """

    operations: tuple[Operation, ...] = ()
    message: str
    lines: dict[str, Any] | None = None
    annotations: dict[str, str] = field(default_factory=dict)

    def changed(self) -> dict[str, Any]:
        """Return the fields that change as a partial manifest; null means a removed one."""
        if not self.operations:
            return {}
        asked = {"metadata": {"annotations": self.annotations}} if self.annotations else {}
        return asked | (self.lines or {})


def edit_of(request: Request, package: WorkPackage, now: datetime) -> Edit:
    """Return the change that `request` asks for. Raises CommandError if there is none."""
    match request:
        case Guide():
            return _guide(request, package)
        case Skip():
            return _skip(request, package)
        case Retry():
            return _retry(request, package, now)
        case Suspend():
            return _suspend(request, package)
        case Cancel():
            return _cancel(package, now)
        case _:
            assert_never(request)


def _guide(request: Guide, package: WorkPackage) -> Edit:
    index, entry = _find(package, request.subtask)
    if request.directive in entry.guidance:
        raise CommandError(
            f"{entry.id} has this directive already; afresh retry runs {entry.id} again."
        )
    if len(entry.guidance) >= MAX_DIRECTIVES:
        raise CommandError(
            f"{entry.id} has {MAX_DIRECTIVES} directives, and no more are allowed: remove some,"
            " or write them into its prompt."
        )
    operations, line = _raise_revision(package, index, entry)
    kept = " It stays left out while skip is true." if entry.skip else ""
    return Edit(
        operations=(*operations, *_append(index, entry, "guidance", request.directive)),
        message=f"{entry.id} has the directive, and runs again as revision"
        f" {line['revision']}.{kept}",
        lines=_lines([line | {"guidance": [*entry.guidance, request.directive]}]),
    )


def _skip(request: Skip, package: WorkPackage) -> Edit:
    found = _find_all(package, request.subtasks)
    phases = {record.id: record.phase for record in package.status.subtasks}
    done = [entry.id for _, entry in found if phases.get(entry.id) is SubtaskPhase.DONE]
    if done:
        raise CommandError(f"{_names(done)} done: there is nothing left to skip.")
    operations: list[Operation] = []
    for index, entry in found:
        operations += () if entry.skip else _set(index, entry, "skip", True)
    names = _names([entry.id for _, entry in found])
    return Edit(
        operations=tuple(operations),
        message=f"{names} left out; subtasks that depend on it continue."
        if operations
        else f"{names} left out already.",
        lines=_lines([{"id": entry.id, "skip": True} for _, entry in found]),
    )


def _retry(request: Retry, package: WorkPackage, now: datetime) -> Edit:
    known = {entry.id for entry in package.spec.subtasks}
    waiting = [review.id for review in package.status.reviews if review.id in known]
    stalled = not request.subtasks and package.status.phase is PackagePhase.STALLED
    found = _find_all(package, request.subtasks or waiting)
    if not found and not stalled:
        raise CommandError(
            f"No subtask of {package.metadata.name} waits for a person, and it is not stalled:"
            " name the subtasks that are to run again."
        )
    if request.because and not found:
        raise CommandError(
            f"No subtask of {package.metadata.name} waits for a person: name those that are to run"
            " again because of what was found in them."
        )
    operations: list[Operation] = []
    lines: list[dict[str, Any]] = []
    for index, entry in found:
        raised, line = _raise_revision(package, index, entry, request.because)
        operations += raised
        operations += _set(index, entry, "skip", False) if entry.skip else ()
        lines.append(line | ({"skip": False} if entry.skip else {}))
    sentences = []
    annotations: dict[str, str] = {}
    if found:
        sentences.append(f"{_names([entry.id for _, entry in found], 'runs', 'run')} again.")
    if stalled:
        annotations = {RETRY_ANNOTATION: _stamp(now)}
        sentences.append(f"{package.metadata.name} is asked to continue from where it stalled.")
    return Edit(
        operations=(*operations, *_annotate(package, annotations)),
        message=" ".join(sentences),
        lines=_lines(lines) if lines else None,
        annotations=annotations,
    )


def _suspend(request: Suspend, package: WorkPackage) -> Edit:
    name, wanted = package.metadata.name, request.suspend
    if package.spec.suspend is wanted:
        state = "is suspended already" if wanted else "is not suspended"
        return Edit(message=f"{name} {state}.")
    suspended = "is suspended: running episodes may end, and no new one starts"
    return Edit(
        operations=(
            {"op": "test", "path": "/spec/suspend", "value": _stored(package.spec, "suspend")},
            {"op": "add", "path": "/spec/suspend", "value": wanted},
        ),
        message=f"{name} {suspended if wanted else 'continues'}.",
        lines={"spec": {"suspend": wanted}},
    )


def _cancel(package: WorkPackage, now: datetime) -> Edit:
    name, running = package.metadata.name, package.status.current.split(",")
    verb = "is" if len(running) == 1 else "are"
    stopped = f"{', '.join(running)} {verb} asked to stop"
    what = stopped if any(running) else "nothing was running just now"
    remedy = f" To stop it from continuing, run afresh suspend {name}."
    annotations = {CANCEL_ANNOTATION: _stamp(now)}
    return Edit(
        operations=_annotate(package, annotations),
        message=f"{name}: {what}.{'' if package.spec.suspend else remedy}",
        annotations=annotations,
    )


def _find(package: WorkPackage, subtask: str) -> tuple[int, SubtaskEntry]:
    for index, entry in enumerate(package.spec.subtasks):
        if entry.id == subtask:
            return index, entry
    ids = [entry.id for entry in package.spec.subtasks]
    shown = ", ".join(ids[:10]) + (", ..." if len(ids) > 10 else "")
    raise CommandError(f'{package.metadata.name} has no subtask "{subtask}"; it has {shown}.')


def _find_all(package: WorkPackage, subtasks: Iterable[str]) -> list[tuple[int, SubtaskEntry]]:
    return [_find(package, subtask) for subtask in dict.fromkeys(subtasks)]


def _raise_revision(
    package: WorkPackage, index: int, entry: SubtaskEntry, because: RevisionReason | None = None
) -> tuple[tuple[Operation, ...], dict[str, Any]]:
    """Raise the revision for this reason alone: one that is left of an earlier time is removed."""
    revision = _next_revision(package, entry)
    operations = _set(index, entry, "revision", revision)
    line: dict[str, Any] = {"id": entry.id, "revision": revision}
    if because or entry.revision_reason:
        operations += _set(index, entry, "revision_reason", because and str(because))
        line["revisionReason"] = because and str(because)
    return operations, line


def _next_revision(package: WorkPackage, entry: SubtaskEntry) -> int:
    """One above what was asked for and what was run: an older manifest may have lowered it."""
    observed = {record.id: record.observed_revision for record in package.status.subtasks}
    return max(entry.revision, observed.get(entry.id, 0)) + 1


def _set(index: int, entry: SubtaskEntry, name: str, value: Any) -> tuple[Operation, ...]:
    """Set one field of one subtask, or remove it; both must still be what was read."""
    subtask, path = f"/spec/subtasks/{index}", f"/spec/subtasks/{index}/{camel_case(name)}"
    change = {"op": "remove", "path": path}
    return (
        {"op": "test", "path": f"{subtask}/id", "value": entry.id},
        {"op": "test", "path": path, "value": _stored(entry, name)},
        change if value is None else {"op": "add", "path": path, "value": value},
    )


def _append(index: int, entry: SubtaskEntry, name: str, value: str) -> tuple[Operation, ...]:
    """Add an item to a list, whatever it holds.

    The API server compares texts as they were written in JSON, where one letter can be written in
    several ways. So only numbers, ids and absence are tested, never a person's text.
    """
    path = f"/spec/subtasks/{index}/{name}"
    if name in entry.model_fields_set:
        return ({"op": "add", "path": f"{path}/-", "value": value},)
    return (
        {"op": "test", "path": path, "value": None},
        {"op": "add", "path": path, "value": [value]},
    )


def _stored(part: ApiModel, name: str) -> Any:
    """What the API server has there; null in a test of a JSON patch means no value."""
    return part.to_manifest()[camel_case(name)] if name in part.model_fields_set else None


def _stamp(now: datetime) -> str:
    return now.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _annotate(package: WorkPackage, annotations: dict[str, str]) -> tuple[Operation, ...]:
    path = "/metadata/annotations"
    first: tuple[Operation, ...] = ()
    if annotations and "annotations" not in package.metadata.model_fields_set:
        first = (
            {"op": "test", "path": path, "value": None},
            {"op": "add", "path": path, "value": {}},
        )
    keys = {name.replace("~", "~0").replace("/", "~1"): at for name, at in annotations.items()}
    return (*first, *({"op": "add", "path": f"{path}/{key}", "value": keys[key]} for key in keys))


def _lines(subtasks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"spec": {"subtasks": list(subtasks)}}


def _names(ids: Sequence[str], one: str = "is", several: str = "are") -> str:
    return f"{', '.join(ids)} {one if len(ids) == 1 else several}"

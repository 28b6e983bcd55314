"""What has changed in a package between two readings, as sentences. Pure."""

from collections.abc import Iterator

from afresh.api.phases import SubtaskPhase
from afresh.cli.look.package_view import PackageView, SubtaskView


def changes(before: PackageView | None, after: PackageView) -> Iterator[str]:
    """Yield one line for each change; without `before`, the state of the package.

    A subtask that has not started yet is left out.
    """
    if before is None:
        yield _package(after)
    old = {item.id: item for item in before.subtasks} if before else {}
    for item in after.subtasks:
        known = old.get(item.id)
        if known is None and item.attempts == 0 and item.phase == SubtaskPhase.PENDING:
            continue
        if known is None:
            yield f"{after.title} {item.id}: {_state(item)}"
        elif _facts(known) != _facts(item):
            yield f"{after.title} {item.id}: {known.phase} -> {_state(item)}"
    if before and (before.phase, before.reason) != (after.phase, after.reason):
        yield _package(after)


def _package(view: PackageView) -> str:
    said = f": {view.message}" if view.message else ""
    reason = f" ({view.reason})" if view.reason and view.reason != view.phase else ""
    return f"{view.title}: {view.phase}{reason}, {view.progress} done{said}"


def _facts(item: SubtaskView) -> tuple[str, str, int]:
    return item.phase, item.reason, item.attempts


def _state(item: SubtaskView) -> str:
    tries = f", attempt {item.attempts}" if item.attempts else ""
    reason = f" ({item.reason})" if item.reason else ""
    return f"{item.marker} {item.phase}{reason}{tries}"

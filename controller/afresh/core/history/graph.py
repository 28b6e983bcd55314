"""Finds the subtasks whose dependencies allow them to run. This module does not know episodes."""

from collections.abc import Iterable, Mapping, Sequence

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import SubtaskPhase
from afresh.api.subtask import SubtaskEntry
from afresh.core.reasons import Reason


def satisfied(record: SubtaskRecord) -> bool:
    """Whether subtasks that depend on this one may run: it is done, or a user skipped it."""
    if record.phase is SubtaskPhase.SKIPPED:
        return record.reason == Reason.SKIPPED_BY_USER
    return record.phase is SubtaskPhase.DONE


def ready(
    entries: Sequence[SubtaskEntry], records: Mapping[str, SubtaskRecord]
) -> list[SubtaskEntry]:
    """Return the pending subtasks whose dependencies are satisfied, in list order (S4-3)."""
    return [
        entry
        for entry in entries
        if records[entry.id].phase is SubtaskPhase.PENDING
        and all(satisfied(records[name]) for name in entry.depends_on)
    ]


def same_name(entries: Iterable[SubtaskEntry]) -> tuple[str, str] | None:
    """Return two ids that differ only in case, or None: object names cannot distinguish them."""
    seen: dict[str, str] = {}
    for entry in entries:
        other = seen.setdefault(entry.id.lower(), entry.id)
        if other != entry.id:
            return other, entry.id
    return None


def cycle(entries: Iterable[SubtaskEntry]) -> list[str]:
    """Return the ids of one dependency cycle, first id repeated at the end; empty if none."""
    return cycle_among({entry.id: entry.depends_on for entry in entries})


def cycle_among(depends_on: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the ids of one cycle, first id repeated at the end; empty if none."""
    settled: set[str] = set()
    for start in depends_on:
        path: list[str] = []
        pending = [(start, 0)]
        while pending:
            node, index = pending.pop()
            if index == 0:
                if node in path:
                    return [*path[path.index(node) :], node]
                if node in settled or node not in depends_on:
                    continue
                path.append(node)
            if index < len(depends_on[node]):
                pending += [(node, index + 1), (depends_on[node][index], 0)]
                continue
            path.pop()
            settled.add(node)
    return []

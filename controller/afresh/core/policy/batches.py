"""Groups the subtasks that are ready into batches, one per new episode.

This module owns the context modes (S0-2, S3-2, S3-3). A mode decides nothing else. Pure.
"""

from collections.abc import Mapping, Sequence

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import SubtaskPhase
from afresh.api.subtask import SubtaskEntry
from afresh.api.work_package import ContextSpec
from afresh.contract.words import ContextMode
from afresh.core.history import graph
from afresh.core.history.plan_state import epic_of

MOST_IN_BATCH = 25

Batch = tuple[SubtaskEntry, ...]


def batches(
    entries: Sequence[SubtaskEntry],
    records: Mapping[str, SubtaskRecord],
    due: Sequence[SubtaskEntry],
    context: ContextSpec,
) -> list[Batch]:
    """Return the batches of the episodes that may start now, in list order.

    `due` are the subtasks that are ready and need not wait. A batch can also contain subtasks that
    become ready when the earlier ones of the batch are done.
    """
    waiting = {entry.id for entry in graph.ready(entries, records)} - {item.id for item in due}
    taken: set[str] = set()
    found = []
    for first in due:
        if first.id in taken:
            continue
        batch = _batch(first, entries, records, context, frozenset(taken | waiting))
        taken |= {entry.id for entry in batch}
        found.append(batch)
    return found


def _batch(
    first: SubtaskEntry,
    entries: Sequence[SubtaskEntry],
    records: Mapping[str, SubtaskRecord],
    context: ContextSpec,
    not_these: frozenset[str],
) -> Batch:
    """Simulate the episode: it does one subtask after another, in list order."""
    batch = [first]
    done = {name for name, record in records.items() if graph.satisfied(record)} | {first.id}
    while len(batch) < _most(context):
        follower = _next_ready(entries, records, done, not_these)
        if follower is None:
            break
        if context.mode is ContextMode.FRESH_PER_EPIC and epic_of(follower) != epic_of(first):
            break
        batch.append(follower)
        done.add(follower.id)
    return tuple(batch)


def _most(context: ContextSpec) -> int:
    if context.mode is ContextMode.FRESH_PER_SUBTASK:
        return 1
    if context.mode is ContextMode.FRESH_PER_EPIC and context.reset_interval:
        return min(context.reset_interval, MOST_IN_BATCH)
    return MOST_IN_BATCH


def _next_ready(
    entries: Sequence[SubtaskEntry],
    records: Mapping[str, SubtaskRecord],
    done: set[str],
    not_these: frozenset[str],
) -> SubtaskEntry | None:
    for entry in entries:
        if entry.id in done or entry.id in not_these:
            continue
        if records[entry.id].phase is SubtaskPhase.PENDING and done.issuperset(entry.depends_on):
            return entry
    return None

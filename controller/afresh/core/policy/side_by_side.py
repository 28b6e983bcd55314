"""Chooses batches that may run at the same time, by the files that their subtasks may change.

This module owns the consequence of a conflict: the subtasks run one at a time, because a repeated
agent costs more than a wait. Pure.
"""

from collections.abc import Sequence

from afresh.contract.overlap import overlap
from afresh.core.policy.batches import Batch


def side_by_side(
    found: Sequence[Batch], live: Sequence[Batch], conflicts: Sequence[str], *, most: int
) -> list[Batch]:
    """Return up to `most` batches, in order, that overlap neither each other nor a live episode.

    Subtasks overlap if their `files` do. A subtask without `files` overlaps with none until there
    was a conflict; then it overlaps with all subtasks that may change the same paths.
    """
    chosen: list[Batch] = []
    for batch in found:
        if len(chosen) >= most:
            break
        if not any(_meet(batch, other, conflicts) for other in (*live, *chosen)):
            chosen.append(batch)
    return chosen


def _meet(one: Batch, other: Batch, conflicts: Sequence[str]) -> bool:
    if conflicts and _is_held(one, conflicts) and _is_held(other, conflicts):
        return True
    return any(
        first.files and second.files and overlap(first.files, second.files)
        for first in one
        for second in other
    )


def _is_held(batch: Batch, conflicts: Sequence[str]) -> bool:
    return any(not entry.files or overlap(entry.files, conflicts) for entry in batch)

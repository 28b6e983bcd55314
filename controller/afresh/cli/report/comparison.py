"""Two packages side by side: what came of each, what it took, and whether they can be compared.

Pure. Fresh against persistent contexts is the question that it is for (S0-12, S0-13); any two
packages can be asked about.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from afresh.api.meta import ApiModel
from afresh.api.phases import ENDED, PackagePhase, SubtaskPhase
from afresh.api.subtask import SubtaskEntry, SubtaskObject
from afresh.api.work_package import WorkPackage
from afresh.cli.plain_values import plain_value
from afresh.cli.report.attempts import Ending, Tokens
from afresh.cli.report.report import SubtaskRow, rows_of, totals_of

# What a person answers while a package runs does not make it another package.
ASKED = ("prompt", "files", "max_new_files", "depends_on", "verify")
SURROUNDINGS = (
    "agent_class_name", "image", "goal", "setup", "guidance", "resources", "pids_limit",
    "episode", "max_consecutive_failures", "budget", "max_episodes", "parallelism", "queue_name",
)  # fmt: skip
REPOSITORY_SURROUNDINGS = (
    "secret_name", "author", "signing", "cache_claim_name", "submodules", "lfs",
)  # fmt: skip
CONTEXT_SURROUNDINGS = ("reset_interval",)
# Fields of a subtask that are named in the comparison but do not make another request.
REMARKED = ("title", "epic", "guidance", "skip")


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two packages. Shares are between 0 and 1; None if unknown, or of nothing.

    A review rejection is a subtask that was done and that a person sent back for it.
    """

    name: str
    mode: str
    agent_class: str
    phase: str
    subtasks: int
    done: int
    done_share: float
    ever_done: int
    review_rejections: int
    review_rejection_rate: float | None
    hallucination_reports: int
    attempts: int
    failed_attempts: int
    episodes: int
    uncounted_episodes: int
    tokens: Tokens
    cost_usd: Decimal | None
    seconds_elapsed: float
    seconds_in_episodes: float
    overhead_share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two sides. With `differences` they were not asked for the same; `remarks` are to be known."""

    first: Side
    second: Side
    differences: tuple[str, ...]
    remarks: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain values under camelCase names."""
        return {"comparable": not self.differences, **plain_value(self)}


Told = tuple[WorkPackage, Sequence[SubtaskObject]]
Entries = dict[str, SubtaskEntry]


def compare(first: Told, second: Told, now: datetime) -> Comparison:
    """Return both packages side by side, each with its Subtasks."""
    sides = tuple(_side(package, children, now) for package, children in (first, second))
    return Comparison(
        first=sides[0],
        second=sides[1],
        differences=tuple(_differences(first[0], second[0])),
        remarks=tuple(_remarks(first[0], second[0], sides)),
    )


def _side(package: WorkPackage, children: Sequence[SubtaskObject], now: datetime) -> Side:
    rows = rows_of(package, children)
    totals = totals_of(package, rows, now)
    done = sum(row.phase is SubtaskPhase.DONE for row in rows)
    ever_done = [row for row in rows if row.commit]
    rejected = sum(row.rejections > 0 for row in ever_done)
    return Side(
        name=package.metadata.name,
        mode=package.spec.context.mode,
        agent_class=package.spec.agent_class_name,
        phase=package.status.phase or PackagePhase.PENDING,
        subtasks=len(rows),
        done=done,
        done_share=done / len(rows),
        ever_done=len(ever_done),
        review_rejections=sum(row.rejections for row in rows),
        review_rejection_rate=rejected / len(ever_done) if ever_done else None,
        hallucination_reports=sum(row.hallucinations for row in rows),
        attempts=totals.attempts,
        failed_attempts=sum(_failed(row) for row in rows),
        episodes=totals.episodes,
        uncounted_episodes=totals.uncounted_episodes,
        tokens=totals.tokens,
        cost_usd=totals.cost_usd,
        seconds_elapsed=totals.seconds_elapsed,
        seconds_in_episodes=totals.seconds_in_episodes,
        overhead_share=totals.overhead_share,
    )


def _failed(row: SubtaskRow) -> int:
    return sum(attempt.ending is Ending.FAILED for attempt in row.history)


def _differences(first: WorkPackage, second: WorkPackage) -> Iterator[str]:
    """Sentences on what was asked of one and not of the other."""
    one, two = first.spec.repository, second.spec.repository
    if one.url != two.url:
        yield "They work on different repositories."
    if one.base_ref != two.base_ref:
        yield f"They start from different refs: {one.base_ref} and {two.base_ref}."
    ours, theirs = _entries(first), _entries(second)
    for package, others, mine in ((first, theirs, ours), (second, ours, theirs)):
        only = [name for name in mine if name not in others]
        if only:
            yield f"Only {package.metadata.name} has {_some(only)}."
    changed = [
        name
        for name, entry in ours.items()
        if name in theirs and _asked(first, entry) != _asked(second, theirs[name])
    ]
    if changed:
        yield f"What is asked differs in {_some(changed)}."


def _remarks(first: WorkPackage, second: WorkPackage, sides: Sequence[Side]) -> Iterator[str]:
    for package in (first, second):
        if package.status.phase not in ENDED:
            yield f"{package.metadata.name} has not ended: its figures are not final."
    one, two = first.spec, second.spec
    fields = [
        *_unequal("spec", one, two, SURROUNDINGS),
        *_unequal("spec.repository", one.repository, two.repository, REPOSITORY_SURROUNDINGS),
        *_unequal("spec.context", one.context, two.context, CONTEXT_SURROUNDINGS),
    ]
    if fields:
        yield f"They also differ in {', '.join(fields)}."
    yield from _remarks_on_entries(_entries(first), _entries(second))
    if first.spec.context.mode == second.spec.context.mode:
        yield f"Both have the context mode {first.spec.context.mode}."
    for side in sides:
        if side.overhead_share is None and side.attempts:
            yield (
                f"The overhead of {side.name} is not known: it is recorded for episodes of one"
                " subtask."
            )


def _unequal(path: str, one: ApiModel, two: ApiModel, names: Sequence[str]) -> Iterator[str]:
    """The paths of the fields, as a manifest has them, that are not the same in both."""
    for name in names:
        if getattr(one, name) != getattr(two, name):
            yield f"{path}.{type(one).model_fields[name].alias or name}"


def _remarks_on_entries(ours: Entries, theirs: Entries) -> Iterator[str]:
    both = [name for name in ours if name in theirs]
    for field in REMARKED:
        other = [n for n in both if getattr(ours[n], field) != getattr(theirs[n], field)]
        if other:
            yield f"The {field} of {_some(other)} differs."
    if both != [name for name in theirs if name in ours]:
        yield "The order of the subtasks differs."


def _entries(package: WorkPackage) -> Entries:
    return {entry.id: entry for entry in package.spec.subtasks}


def _asked(package: WorkPackage, entry: SubtaskEntry) -> list[Any]:
    values = {name: getattr(entry, name) for name in ASKED} | {"verify": package.verify_of(entry)}
    return list(values.values())


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")

"""The report on one package: its state, usage, what waits for a person, and agents' notes.

Pure. No text in it has a control character.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.api.subtask import SubtaskEntry, SubtaskObject
from afresh.api.work_package import WorkPackage
from afresh.cli.look.package_view import fetch_line
from afresh.cli.plain_values import plain_value
from afresh.cli.printable import plain_line, plain_lines
from afresh.cli.report.attempts import (
    Change,
    Tokens,
    Tried,
    change,
    overhead_share,
    seconds_of,
    tokens_of,
    tried,
)
from afresh.cli.report.branch_files import Notes
from afresh.cli.report.waiting import WaitingForPerson, waiting
from afresh.core.history.transitions import new_record


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskRow:
    """One subtask; `commit` is whole. Tokens and seconds are those of the `history` that is kept.

    `attempts` and `cost_usd` are of all attempts; without a price there is no cost.
    """

    marker: str
    id: str
    title: str
    phase: SubtaskPhase
    reason: str
    message: str
    summary: str
    attempts: int
    commit: str
    rejections: int
    hallucinations: int
    cost_usd: Decimal | None
    tokens: Tokens
    seconds: float
    history: tuple[Tried, ...]
    changes: tuple[Change, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What its attempts warned of, each once, the latest attempt's first."""
        texts = [text for attempt in reversed(self.history) for text in attempt.warnings]
        return tuple(dict.fromkeys(texts))


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What the whole package took.

    `episodes` count against spec.maxEpisodes; `uncounted_episodes` had a temporary cause. Elapsed
    is from the first start to the last end, or to now while something runs.
    """

    attempts: int
    episodes: int
    uncounted_episodes: int
    tokens: Tokens
    cost_usd: Decimal | None
    seconds_in_episodes: float
    seconds_elapsed: float
    overhead_share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageReport:
    """Everything that a person needs to continue. `now` is the time of the report."""

    namespace: str
    name: str
    goal: str
    mode: str
    agent_class: str
    phase: str
    reason: str
    message: str
    progress: str
    branch: str
    head_commit: str
    fetch: str
    now: datetime
    totals: Totals
    subtasks: tuple[SubtaskRow, ...]
    waiting: tuple[WaitingForPerson, ...]
    notes: Notes

    def to_json(self) -> dict[str, Any]:
        """Return plain values under camelCase names."""
        return {**plain_value(self)}


def report_on(
    package: WorkPackage, children: Sequence[SubtaskObject], notes: Notes, now: datetime
) -> PackageReport:
    """Return the report on `package`, with its Subtasks and what was read from its branch."""
    status = package.status
    rows = rows_of(package, children)
    return PackageReport(
        namespace=package.metadata.namespace,
        name=package.metadata.name,
        goal=plain_line(package.spec.goal),
        mode=package.spec.context.mode,
        agent_class=package.spec.agent_class_name,
        phase=status.phase or PackagePhase.PENDING,
        reason=plain_line(status.reason),
        message=plain_line(status.message),
        progress=status.progress,
        branch=status.branch or package.branch,
        head_commit=plain_line(status.head_commit),
        fetch=fetch_line(package),
        now=now,
        totals=totals_of(package, rows, now),
        subtasks=rows,
        waiting=tuple(waiting(package)),
        notes=Notes(
            discovery=plain_lines(notes.discovery),
            ideas=plain_lines(notes.ideas),
            problem=plain_line(notes.problem),
        ),
    )


def rows_of(package: WorkPackage, children: Sequence[SubtaskObject]) -> tuple[SubtaskRow, ...]:
    """Return one row for each subtask, in list order."""
    records = {record.id: record for record in package.status.subtasks}
    by_id = {child.spec.id: child for child in children}
    return tuple(
        _row(entry, records.get(entry.id) or new_record(entry), by_id.get(entry.id))
        for entry in package.spec.subtasks
    )


def totals_of(package: WorkPackage, rows: Sequence[SubtaskRow], now: datetime) -> Totals:
    """Return what the package took; seconds are those of the history that is kept."""
    usage = package.status.usage
    history = [attempt for row in rows for attempt in row.history if attempt.start]
    starts = [attempt.start for attempt in history if attempt.start]
    ends = [attempt.end or now for attempt in history]
    elapsed = (max(ends) - min(starts)).total_seconds() if starts else 0.0
    return Totals(
        attempts=sum(row.attempts for row in rows),
        episodes=usage.episodes,
        uncounted_episodes=usage.transient_retries,
        tokens=tokens_of(usage),
        cost_usd=usage.cost_usd,
        seconds_in_episodes=seconds_of(history),
        seconds_elapsed=max(elapsed, 0.0),
        overhead_share=overhead_share(history),
    )


def _row(entry: SubtaskEntry, record: SubtaskRecord, child: SubtaskObject | None) -> SubtaskRow:
    done = record.phase is SubtaskPhase.DONE
    kept = child.status.attempts if child else ()
    changes = tuple(change(item) for item in child.status.transitions) if child else ()
    history = tuple(
        tried(item, changes, led_to_done=done and item.number == record.attempts) for item in kept
    )
    summaries = [item.summary for item in history if item.summary]
    return SubtaskRow(
        marker=record.marker,
        id=entry.id,
        title=plain_line(entry.title),
        phase=record.phase,
        reason=plain_line(record.reason),
        message=plain_line(record.message),
        summary=summaries[-1] if summaries and done else "",
        attempts=record.attempts_begun,
        commit=plain_line(record.commit),
        rejections=record.rejections,
        hallucinations=record.hallucinations,
        cost_usd=record.cost_usd,
        tokens=sum((item.tokens for item in history), Tokens()),
        seconds=seconds_of(history),
        history=history,
        changes=changes,
    )

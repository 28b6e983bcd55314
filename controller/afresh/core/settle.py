"""From the last record and what is observed now to the record that decisions rest on.

Folds ended episodes into records, adopts episodes that a crash left unrecorded, and applies the
user's edits. Starts nothing.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from afresh.api.meta import ApiModel
from afresh.api.phases import SubtaskPhase
from afresh.api.subtask import SubtaskEntry
from afresh.api.work_package import MAX_SUBTASKS, SubtaskRecord, Usage
from afresh.contract.words import Marker, Outcome
from afresh.core.actions import Settlement
from afresh.core.evidence import Ended, Live, verdict_of
from afresh.core.observed import Episode, Observed
from afresh.core.outcome import TABLE, Next, Row, backoff_after, probe_after
from afresh.core.reasons import Reason
from afresh.core.usage import cost_of, plus_cost, usage_after

M = TypeVar("M", bound=ApiModel)

MARKERS = {
    SubtaskPhase.PENDING: Marker.PENDING,
    SubtaskPhase.QUEUED: Marker.RUNNING,
    SubtaskPhase.RUNNING: Marker.RUNNING,
    SubtaskPhase.DONE: Marker.DONE,
    SubtaskPhase.NEEDS_REVIEW: Marker.NEEDS_REVIEW,
    SubtaskPhase.SKIPPED: Marker.SKIPPED,
}
IN_EPISODE = frozenset({SubtaskPhase.RUNNING, SubtaskPhase.QUEUED})
SETTLED = frozenset({SubtaskPhase.DONE, SubtaskPhase.NEEDS_REVIEW, SubtaskPhase.SKIPPED})
STALLING = frozenset({str(Outcome.AUTH), str(Outcome.CONFIG)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where every subtask stands, after everything observed has been taken in.

    `removed` are subtasks that are no longer in the package: kept so that an attempt's number
    never repeats, and live until their pod has ended.
    """

    records: tuple[SubtaskRecord, ...]
    usage: Usage
    removed: tuple[SubtaskRecord, ...] = ()
    settlements: tuple[Settlement, ...] = ()
    live: tuple[tuple[Episode, Live], ...] = ()

    def record(self, subtask: str) -> SubtaskRecord:
        """Return the record of one subtask. Raises KeyError for an unknown id."""
        return self.by_id()[subtask]

    def by_id(self) -> dict[str, SubtaskRecord]:
        """Return the records by subtask id."""
        return {record.id: record for record in self.records}


def stand(seen: Observed) -> Standing:
    """Take in everything that `seen` tells."""
    records: list[SubtaskRecord] = []
    settlements: list[Settlement] = []
    live: list[tuple[Episode, Live]] = []
    old = {record.id: record for record in seen.package.status.subtasks}
    for entry in seen.package.spec.subtasks:
        record = old.get(entry.id) or new_record(entry)
        record, ended, going_on = _take_in(seen, record)
        settlements += ended
        live += going_on
        records.append(_edited(record, entry, seen))
        old.pop(entry.id, None)
    removed = []
    for known in old.values():
        record, ended, going_on = _take_in(seen, known)
        settlements += [_cancelled(item) for item in ended]
        live += going_on
        removed.append(record if going_on else _removed(record))
    return Standing(
        records=tuple(records),
        removed=tuple(removed)[: MAX_SUBTASKS - len(records)],
        usage=usage_after(seen.package.status.usage, settlements),
        settlements=tuple(settlements),
        live=tuple(live),
    )


def _take_in(
    seen: Observed, record: SubtaskRecord
) -> tuple[SubtaskRecord, list[Settlement], list[tuple[Episode, Live]]]:
    """Fold the subtask's episodes into its record, oldest first.

    A process that died may have left an end unrecorded and the next episode already created: each
    end is recorded before the next episode is adopted.
    """
    settlements: list[Settlement] = []
    live: list[tuple[Episode, Live]] = []
    for episode in _unrecorded(seen, record):
        if live:
            live.append((episode, Live()))
            continue
        if episode.attempt > record.attempts:
            if episode.revision > record.observed_revision:
                record = _begin_again(record, episode.revision)
            record = started(record, episode.attempt)
        verdict = _verdict(episode, now=seen.now)
        if isinstance(verdict, Live):
            live.append((episode, verdict))
            record = _in_phase(record, _live_phase(verdict))
            continue
        limit = seen.package.spec.max_consecutive_failures
        record = after(record, verdict, now=seen.now, limit=limit)
        settlements.append(Settlement(episode=episode, ended=verdict))
    return record, settlements, live


def _cancelled(settlement: Settlement) -> Settlement:
    """The operator itself stopped a removed subtask's episode; what it used still counts."""
    ended = replace(settlement.ended, outcome=Outcome.CANCELLED, message="The subtask was removed.")
    return replace(settlement, ended=ended)


def _removed(record: SubtaskRecord) -> SubtaskRecord:
    gone = updated(record, reason=Reason.REMOVED, message="", not_before=None)
    return _in_phase(gone, SubtaskPhase.SKIPPED)


def new_record(entry: SubtaskEntry) -> SubtaskRecord:
    """Return the record of a subtask that nothing has happened to."""
    return SubtaskRecord(
        id=entry.id,
        phase=SubtaskPhase.PENDING,
        marker=Marker.PENDING,
        observed_revision=entry.revision,
        reason=Reason.WAITING,
    )


def started(record: SubtaskRecord, attempt: int) -> SubtaskRecord:
    """Return the record with episode `attempt` running; a probe keeps the reason it probes for."""
    probe = record.reason in STALLING
    return updated(
        record,
        phase=SubtaskPhase.RUNNING,
        marker=Marker.RUNNING,
        attempts=attempt,
        reason=record.reason if probe else Reason.EPISODE_RUNNING,
        message=record.message if probe else "",
        not_before=None,
    )


def after(record: SubtaskRecord, ended: Ended, *, now: datetime, limit: int) -> SubtaskRecord:
    """Return the record once `ended` is taken in: phase, counters and the wait, by the table."""
    row = row_of(ended)
    failures = record.consecutive_failures + (1 if row.counts else 0)
    update: dict[str, object] = {
        "consecutive_failures": failures,
        "transient_retries": 0,
        "reason": str(ended.outcome),
        "message": ended.message,
        "cost_usd": plus_cost(record.cost_usd, cost_of(ended)),
        "not_before": None,
    }
    phase = SubtaskPhase.PENDING
    if row.next is Next.DONE:
        phase = SubtaskPhase.DONE
        commit = (ended.result.commit if ended.result else None) or ""
        reason = Reason.VERIFIED if ended.outcome is Outcome.SUCCESS else str(ended.outcome)
        update |= {"consecutive_failures": 0, "reason": reason, "commit": commit}
    elif row.next is Next.REVIEW:
        phase = SubtaskPhase.NEEDS_REVIEW
    elif row.counts and failures >= limit:
        phase = SubtaskPhase.SKIPPED
        update |= {"reason": Reason.TOO_MANY_FAILURES}
    elif row.next in (Next.BACKOFF, Next.PROBE):
        same = (record.reason in STALLING) == (row.next is Next.PROBE)
        retries = record.transient_retries + 1 if same else 1
        update |= {"transient_retries": retries, "not_before": _not_before(ended, retries, now)}
    return _in_phase(updated(record, **update), phase)


def updated(model: M, **changes: object) -> M:
    """Return a copy with `changes`, cut and rounded as the CRD wants them."""
    return type(model).model_validate({**dict(model), **changes})


def row_of(ended: Ended) -> Row:
    """Return the row that holds.

    NoChanges with a commit is the agent's word, verified, that nothing is needed; without one it
    is a failure.
    """
    if ended.outcome is Outcome.NO_CHANGES and ended.result and ended.result.commit:
        return TABLE[Outcome.SUCCESS]
    return TABLE[ended.outcome]


def _not_before(ended: Ended, retries: int, now: datetime) -> datetime:
    wait = (
        probe_after(retries) if TABLE[ended.outcome].next is Next.PROBE else backoff_after(retries)
    )
    due = now + wait
    reset = ended.report.not_before if ended.report else None
    if ended.outcome is Outcome.TRANSIENT and reset:
        due = max(due, datetime.fromtimestamp(reset, tz=now.tzinfo))
    return due.replace(microsecond=0) + timedelta(seconds=1 if due.microsecond else 0)


def _in_phase(record: SubtaskRecord, phase: SubtaskPhase) -> SubtaskRecord:
    return updated(record, phase=phase, marker=MARKERS[phase])


def _live_phase(verdict: Live) -> SubtaskPhase:
    return SubtaskPhase.QUEUED if verdict.queued else SubtaskPhase.RUNNING


def _unrecorded(seen: Observed, record: SubtaskRecord) -> list[Episode]:
    """The subtask's episodes whose end the record does not know, oldest first."""
    running = record.phase in IN_EPISODE
    mine = [
        item
        for item in seen.episodes
        if item.subtask == record.id
        and (item.attempt > record.attempts or (running and item.attempt == record.attempts))
    ]
    if running and not any(item.attempt == record.attempts for item in mine):
        mine.append(_gone(record))
    return sorted(mine, key=lambda item: item.attempt)


def _verdict(episode: Episode, *, now: datetime) -> Live | Ended:
    if episode.uid:
        return verdict_of(episode, now=now)
    return Ended(outcome=Outcome.INFRASTRUCTURE, message="The Job was deleted before it ended.")


def _gone(record: SubtaskRecord) -> Episode:
    """Stand for an episode whose Job nobody has any more; it has no UID."""
    return Episode(
        name="",
        uid="",
        subtask=record.id,
        attempt=record.attempts,
        revision=record.observed_revision,
        created=datetime.min,  # noqa: DTZ901  # never compared; an absent Job has no time
    )


def _edited(record: SubtaskRecord, entry: SubtaskEntry, seen: Observed) -> SubtaskRecord:
    if record.phase in IN_EPISODE:
        return record
    if entry.revision > record.observed_revision or record.reason == Reason.REMOVED:
        record = _begin_again(record, entry.revision)
    if entry.skip and record.phase is not SubtaskPhase.DONE:
        skipped = updated(record, reason=Reason.SKIPPED_BY_USER, message="", not_before=None)
        return _in_phase(skipped, SubtaskPhase.SKIPPED)
    if record.reason == Reason.SKIPPED_BY_USER:
        return _begin_again(record, record.observed_revision)
    edited = seen.package.metadata.generation != seen.package.status.observed_generation
    if edited and record.reason in STALLING:
        return updated(record, not_before=None)
    return record


def _begin_again(record: SubtaskRecord, revision: int) -> SubtaskRecord:
    fresh = updated(
        record,
        observed_revision=revision,
        consecutive_failures=0,
        transient_retries=0,
        reason=Reason.WAITING,
        message="",
        not_before=None,
    )
    return _in_phase(fresh, SubtaskPhase.PENDING)

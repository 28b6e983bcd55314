"""The transitions of one record, of a subtask or of the syncs: one function per transition.

This module does not know other subtasks, and knows only the end of an episode.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar, assert_never

from afresh.api.meta import ApiModel
from afresh.api.package_status import BudgetShare, PlanSync, SubtaskRecord
from afresh.api.phases import RevisionReason, SubtaskPhase
from afresh.api.subtask import SubtaskEntry
from afresh.contract.outcomes import (
    MOST_SILENCES,
    TABLE,
    NextStep,
    OutcomeRow,
    backoff_after,
    probe_after,
    reset_of,
    slower,
    whole_second,
)
from afresh.contract.report import SYNC_ID, Report, Unpushed
from afresh.contract.sentences import with_details
from afresh.contract.words import Marker, Outcome, PushRefusal
from afresh.core.history.classify import Finished
from afresh.core.history.usage import plus_cost, share_of
from afresh.core.observed import Episode, Member
from afresh.core.reasons import Reason

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
LIVE_REASONS = frozenset(
    {str(Reason.EPISODE_RUNNING), str(Reason.EPISODE_QUEUED), str(Reason.WAITING)}
)
# A record with one of these as its reason stalls the package.
STALLING = frozenset(str(outcome) for outcome, row in TABLE.items() if row.stalls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Syncs:
    """The state of the syncs. `pushed` is the digest of the plan that a sync has just pushed.

    `missing` are recorded commits that a sync has just looked for and not found.
    """

    record: PlanSync | None = None
    live: Episode | None = None
    pushed: str = ""
    head: str = ""
    probe: "Probe | None" = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The result of a push probe: a push was accepted, or why it was `refused`.

    `delivered` maps the ids of subtasks that the sync has finished to their commits.
    """

    delivered: Mapping[str, str]
    refused: Finished | None = None


NO_SYNCS = Syncs()
WORK_ONLY = (
    "Make the git server accept the work, then run `afresh retry`: it accepts only the plan."
)
NOTHING_UNPUSHED = Unpushed()


def new_record(entry: SubtaskEntry) -> SubtaskRecord:
    """Return the record of a new subtask."""
    return SubtaskRecord(
        id=entry.id,
        phase=SubtaskPhase.PENDING,
        marker=Marker.PENDING,
        observed_revision=entry.revision,
        reason=Reason.WAITING,
    )


def started(record: SubtaskRecord, attempt: int) -> SubtaskRecord:
    """Return the record with episode `attempt` begun; a probe keeps the record's reason."""
    probe = record.reason in STALLING
    begun = updated(
        record,
        attempts=attempt,
        reason=record.reason if probe else Reason.EPISODE_RUNNING,
        message=record.message if probe else "",
        not_before=None,
    )
    return in_phase(begun, SubtaskPhase.RUNNING)


def while_live(
    record: SubtaskRecord, *, queued: bool, later: bool, problem: str = ""
) -> SubtaskRecord:
    """Return the record of a subtask whose episode has not ended.

    `queued`: its Job waits in a queue. `later`: other subtasks of its batch come first. `problem`
    is what keeps its pod from starting; it is recorded because the pod may be deleted later.
    """
    phase, reason = SubtaskPhase.RUNNING, Reason.EPISODE_RUNNING
    if queued or later:
        phase = SubtaskPhase.QUEUED
        reason = Reason.EPISODE_QUEUED if queued else Reason.WAITING
    if record.reason in LIVE_REASONS:
        record = updated(record, reason=reason, message=problem)
    return in_phase(record, phase)


def cancelling(record: SubtaskRecord, why: str) -> SubtaskRecord:
    """Return the record of a running subtask whose episode is to be stopped.

    It is written before the Job is deleted, so that after a restart the end counts as Cancelled.
    """
    return updated(record, reason=str(Outcome.CANCELLED), message=why)


def is_cancelled(record: SubtaskRecord) -> bool:
    """Whether the operator itself stops the subtask's episode."""
    return record.phase in IN_EPISODE and record.reason == Outcome.CANCELLED


def knows_end(record: SubtaskRecord, member: Member) -> bool:
    """Whether the record already includes the end of that episode for the subtask."""
    last = member.attempt == record.attempts and record.phase not in IN_EPISODE
    return last or member.attempt < record.attempts


def is_due(record: SubtaskRecord | PlanSync, now: datetime) -> bool:
    """Whether the record's wait is over, so that it may be tried again."""
    return record.not_before is None or record.not_before <= now


def is_last_chance(record: SubtaskRecord, limit: int) -> bool:
    """Whether the subtask is skipped after the next failure that counts."""
    return record.consecutive_failures + 1 >= limit


def after(
    record: SubtaskRecord,
    ended: Finished,
    *,
    now: datetime,
    limit: int,
    gated: bool = False,
    waiting_since: datetime | None = None,
) -> SubtaskRecord:
    """Return the record after `ended`: phase, counters and wait, by the outcome table.

    `gated`: the cause has a gate, and the subtask waits for the gate instead. `waiting_since`: the
    time since which all episodes of the package have ended with a wait.
    """
    row = row_of(ended)
    share = share_of(ended)
    failures = record.consecutive_failures + (1 if row.counts else 0)
    update: dict[str, object] = {
        "consecutive_failures": failures,
        "transient_retries": 0,
        "silences": None,
        "reason": str(ended.outcome),
        "message": ended.message,
        "cost_usd": plus_cost(record.cost_usd, share.cost_usd if share else None),
        "not_before": None,
        "refused": _unpushed(ended).refusal,
        "kept": _unpushed(ended).kept or (None if _did_work(ended) else record.kept),
    }
    phase = SubtaskPhase.PENDING
    if row.next is NextStep.DONE:
        phase = SubtaskPhase.DONE
        commit = (ended.result.commit if ended.result else None) or ""
        reason = Reason.VERIFIED if ended.outcome is Outcome.SUCCESS else str(ended.outcome)
        update |= {"consecutive_failures": 0, "reason": reason, "commit": commit}
    elif not ended.begun:
        not_begun = (record.not_begun or 0) + 1
        update |= {"reason": Reason.WAITING, "message": "", "not_begun": not_begun}
    elif row.next is NextStep.REVIEW:
        phase = SubtaskPhase.NEEDS_REVIEW
    elif row.counts and is_last_chance(record, limit):
        phase = SubtaskPhase.SKIPPED
        update |= {"reason": Reason.TOO_MANY_FAILURES}
    elif row.next in (NextStep.BACKOFF, NextStep.PROBE):
        is_silent = ended.outcome is Outcome.MODEL_SILENT
        silences = (record.silences or 0) + is_silent
        stalls = row.next is NextStep.PROBE or (is_silent and silences >= MOST_SILENCES)
        same = bool(record.kept) or ((record.reason in STALLING) == stalls)
        retries = record.transient_retries + 1 if same else 1
        update |= {"transient_retries": retries, "silences": silences or None}
        if is_silent and not stalls:
            update["reason"] = str(Outcome.TRANSIENT)
        if not gated or (is_silent and stalls):
            pause = probe_after if stalls else backoff_after
            update["not_before"] = _not_before(ended, pause(retries), now, waiting_since)
    return in_phase(updated(record, **update), phase)


def _unpushed(ended: Finished) -> Unpushed:
    return (ended.result and ended.result.unpushed) or NOTHING_UNPUSHED


def _did_work(ended: Finished) -> bool:
    """Whether the episode has verified or rejected its work; work kept earlier is then obsolete."""
    row = row_of(ended)
    return row.counts or row.next in (NextStep.DONE, NextStep.REVIEW)


def with_share(record: SubtaskRecord, episode: Episode, ended: Finished) -> SubtaskRecord:
    """Return the record with the budget share that was too small, if that ended the episode."""
    share = episode.budget if ended.outcome is Outcome.BUDGET_EXCEEDED else None
    if share is None:
        return updated(record, insufficient=None) if record.insufficient else record
    given = BudgetShare(max_tokens=share.max_tokens, max_cost_usd=share.max_cost_usd)
    return updated(record, insufficient=given)


def updated(model: M, **changes: object) -> M:
    """Return a copy with `changes`, cut and rounded as the CRD requires."""
    return type(model).model_validate({**dict(model), **changes})


def row_of(ended: Finished) -> OutcomeRow:
    """Return the outcome's row for how the episode ended.

    NoChanges with a commit is a success: the agent said why nothing is needed, and verify passed.
    Without one it is a failure.
    """
    if ended.outcome is Outcome.NO_CHANGES and ended.result and ended.result.commit:
        return TABLE[Outcome.SUCCESS]
    return TABLE[ended.outcome]


def _pause(ended: Finished, retries: int) -> timedelta:
    stalls = TABLE[ended.outcome].next is NextStep.PROBE
    return probe_after(retries) if stalls else backoff_after(retries)


def _not_before(
    ended: Finished, pause: timedelta, now: datetime, since: datetime | None = None
) -> datetime:
    due = now + slower(pause, since, now)
    resets = reset_of(ended.report.not_before, now) if ended.report else None
    if ended.outcome is Outcome.TRANSIENT and resets:
        due = max(due, resets)
    return whole_second(due)


def in_phase(record: SubtaskRecord, phase: SubtaskPhase) -> SubtaskRecord:
    """Return the record in `phase`, with its marker."""
    return updated(record, phase=phase, marker=MARKERS[phase])


def without_commit(record: SubtaskRecord, missing: Collection[str]) -> SubtaskRecord:
    """Return the record, no longer done if its commit is missing in the repository."""
    if record.phase is not SubtaskPhase.DONE or record.commit not in missing:
        return record
    message = (
        f"Its commit {record.commit} is not in the repository; raise its revision to have it done "
        "again, or restore the commit and skip the subtask."
    )
    lost = updated(record, reason=Reason.COMMIT_MISSING, message=message)
    return in_phase(lost, SubtaskPhase.NEEDS_REVIEW)


def removed(record: SubtaskRecord) -> SubtaskRecord:
    """Return the record of a subtask that is no longer in the package."""
    gone = updated(
        record,
        reason=Reason.REMOVED,
        message="",
        not_before=None,
        refused=None,
        kept=None,
    )
    return in_phase(gone, SubtaskPhase.SKIPPED)


def begin_again(record: SubtaskRecord, revision: int) -> SubtaskRecord:
    """Return the record reset to that of a new subtask; the attempt number is kept."""
    fresh = updated(
        record,
        observed_revision=revision,
        consecutive_failures=0,
        transient_retries=0,
        silences=None,
        insufficient=None,
        reason=Reason.WAITING,
        message="",
        not_before=None,
        refused=None,
        kept=None,
    )
    return in_phase(fresh, SubtaskPhase.PENDING)


def sent_back(record: SubtaskRecord, reason: RevisionReason | None) -> SubtaskRecord:
    """Return the record after a person has raised the revision for `reason`."""
    match reason:
        case RevisionReason.REJECTED:
            return updated(record, rejections=record.rejections + 1)
        case RevisionReason.HALLUCINATION:
            return updated(record, hallucinations=record.hallucinations + 1)
        case None:
            return record
        case _:
            assert_never(reason)


def after_sync(syncs: Syncs, episode: Episode, ended: Finished, *, now: datetime) -> Syncs:
    """Return the state of the syncs after this one."""
    record, report = syncs.record or PlanSync(), ended.report
    probe = _probe_of(ended)
    if ended.outcome is Outcome.SUCCESS:
        return replace(
            syncs,
            record=PlanSync(attempts=episode.attempt),
            pushed=episode.plan or (report and report.plan_digest) or "",
            head=(report and report.head) or "",
            probe=probe,
        )
    failures = record.failures + 1
    failed = PlanSync(
        attempts=episode.attempt,
        failures=failures,
        reason=str(ended.outcome),
        message=ended.message,
        not_before=_not_before(ended, _pause(ended, failures), now),
    )
    missing = report.missing if report else ()
    return replace(syncs, record=failed, probe=probe, missing=missing)


def _probe_of(ended: Finished) -> Probe | None:
    report = ended.report
    delivered = {
        result.id: result.commit
        for result in (report.results if report else ())
        if result.commit and result.id != SYNC_ID
    }
    if _unpushed(ended).refusal:
        return Probe(delivered=delivered, refused=ended)
    return Probe(delivered=delivered) if delivered or _passed(report) else None


def _passed(report: Report | None) -> bool:
    return report is not None and report.push_passed


def after_probe(record: SubtaskRecord, probe: Probe, *, now: datetime) -> SubtaskRecord:
    """Return the record after a probe has shown whether the server accepts pushes.

    If the refused work is lost, a server that accepts the plan proves nothing, because it accepted
    the plan before, too. Then nothing starts until somebody acts, unless a push was also refused in
    between.
    """
    if record.phase is not SubtaskPhase.PENDING or not (record.refused or record.kept):
        return record
    commit = probe.delivered.get(record.id)
    if commit:
        return in_phase(_delivered(record, commit), SubtaskPhase.DONE)
    if record.refused is None:
        return record
    if probe.refused:
        retries = record.transient_retries + 1
        return updated(
            record,
            reason=str(probe.refused.outcome),
            message=probe.refused.message,
            transient_retries=retries,
            not_before=_not_before(probe.refused, _pause(probe.refused, retries), now),
        )
    if record.refused is PushRefusal.LOST and record.transient_retries <= 1:
        return updated(
            record,
            refused=PushRefusal.WORK_ONLY,
            message=with_details(WORK_ONLY, record.message),
            not_before=None,
        )
    if record.refused is PushRefusal.WORK_ONLY:
        return record
    return push_allowed(record)


def push_allowed(record: SubtaskRecord) -> SubtaskRecord:
    """Return the record of a subtask that a refused push no longer blocks."""
    return updated(record, reason=Reason.WAITING, message="", not_before=None, refused=None)


def _delivered(record: SubtaskRecord, commit: str) -> SubtaskRecord:
    return updated(
        push_allowed(record),
        reason=Reason.VERIFIED,
        consecutive_failures=0,
        transient_retries=0,
        commit=commit,
        kept=None,
    )

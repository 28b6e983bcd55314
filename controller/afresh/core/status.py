"""The status of a package and of its subtasks, computed from (observed, decision) in one place."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import zip_longest

from afresh.api.conditions import Condition
from afresh.api.package_status import COMES_LATER, Review, SubtaskRecord, WorkPackageStatus
from afresh.api.phases import ENDED, PackagePhase, SubtaskPhase
from afresh.api.resources import TokenUsage
from afresh.api.subtask import (
    ATTEMPTS_KEPT,
    TRANSITIONS_KEPT,
    Attempt,
    SubtaskObject,
    SubtaskObjectStatus,
    Transition,
    VerifyStatus,
)
from afresh.contract.outcomes import NextStep
from afresh.contract.report import PHASES, Usage
from afresh.contract.words import Outcome
from afresh.core.decision import Decision, StartEpisode
from afresh.core.history.classify import AttemptResult
from afresh.core.history.durations import TimeRange, time_range_after
from afresh.core.history.graph import satisfied
from afresh.core.history.interventions import guidance_given, interventions_after
from afresh.core.history.plan_state import last_pushed
from afresh.core.history.transitions import IN_EPISODE, STALLING, row_of
from afresh.core.history.usage import TOKENS, share_of
from afresh.core.history.whole_messages import whole_message
from afresh.core.names import subtask_name
from afresh.core.observed import Observed
from afresh.core.programs import found_after
from afresh.core.push_target import passed_after
from afresh.core.reasons import Reason

PROGRESSING = frozenset({PackagePhase.RUNNING, PackagePhase.QUEUED, PackagePhase.PENDING})
OVER = frozenset({SubtaskPhase.DONE, SubtaskPhase.NEEDS_REVIEW, SubtaskPhase.SKIPPED})
NEEDS_A_PERSON = frozenset({PackagePhase.STALLED, PackagePhase.NEEDS_REVIEW, PackagePhase.FAILED})


def package_status(seen: Observed, decision: Decision) -> WorkPackageStatus:
    """Return the package's new status; equal to the old one when nothing has changed."""
    old, generation = seen.package.status, seen.package.metadata.generation
    said = (decision.phase, decision.reason, decision.message)
    wanted = {entry.id for entry in seen.package.spec.subtasks}
    records = [record for record in decision.records if record.id in wanted]
    done = sum(1 for record in records if satisfied(record))
    running = [record.id for record in records if record.phase is SubtaskPhase.RUNNING]
    pushed = last_pushed(decision.attempt_results)
    span = time_range_after(
        TimeRange(start=old.start_time, end=old.completion_time),
        runs=decision.phase not in ENDED and any(record.attempts for record in records),
        over=decision.phase in ENDED,
        now=seen.now,
    )
    return WorkPackageStatus(
        observed_generation=generation,
        phase=decision.phase,
        conditions=_conditions(*said, generation, seen.now, old.conditions),
        reason=decision.reason,
        progress=f"{done}/{len(records)}",
        current=",".join(running),
        start_time=span.start,
        completion_time=span.end,
        duration=span.duration,
        cost=dollars(decision.usage.cost_usd),
        branch=seen.package.branch,
        head_commit=decision.syncs.head or (pushed and pushed.head) or old.head_commit,
        plan_digest=decision.syncs.pushed or (pushed and pushed.plan_digest) or old.plan_digest,
        plan_sync=decision.syncs.record,
        conflicts=decision.conflicts,
        programs=found_after(
            old.programs,
            [item.ended.report for item in decision.attempt_results if item.ended.report],
        ),
        push_passed=passed_after(seen, decision.attempt_results, decision.syncs),
        last_handled_cancel=seen.package.cancel_request,
        last_handled_retry=seen.package.retry_request,
        waiting_since=_waiting_since(seen, decision),
        wait=decision.wait,
        usage=decision.usage,
        subtasks=decision.records,
        reviews=tuple(
            Review(id=record.id, reason=record.reason, message=record.message)
            for record in records
            if record.phase in (SubtaskPhase.NEEDS_REVIEW, SubtaskPhase.SKIPPED)
            and not satisfied(record)
        ),
    )


def first_status(seen: Observed) -> WorkPackageStatus:
    """Return the status of a new package while its many Subtasks are created.

    It has no records, so no decision depends on it.
    """
    generation = seen.package.metadata.generation
    why = (Reason.EPISODE_NOT_STARTED, "Its Subtasks are being created.")
    return WorkPackageStatus(
        observed_generation=generation,
        phase=PackagePhase.PENDING,
        conditions=_conditions(PackagePhase.PENDING, *why, generation, seen.now),
        reason=Reason.EPISODE_NOT_STARTED,
        progress=f"0/{len(seen.package.spec.subtasks)}",
        branch=seen.package.branch,
    )


def subtask_statuses(seen: Observed, decision: Decision) -> dict[str, SubtaskObjectStatus]:
    """Return the new status of each existing child object whose status changes, by its name."""
    wanted = {entry.id for entry in seen.package.spec.subtasks}
    children = {child.metadata.name: child for child in seen.subtasks}
    changed = {}
    for record in decision.records:
        child = children.get(subtask_name(seen.package.metadata.name, record.id))
        if child is None or record.id not in wanted:
            continue
        status = _subtask_status(seen, decision, record, child)
        if status != child.status:
            changed[child.metadata.name] = status
    return changed


def unreadable_status(generation: int, message: str, now: datetime) -> dict[str, object]:
    """Return the status fields of a package that cannot be read, under their YAML names."""
    manifest = WorkPackageStatus(
        observed_generation=generation,
        phase=PackagePhase.STALLED,
        reason=Reason.INVALID_SPEC,
        conditions=_conditions(PackagePhase.STALLED, Reason.INVALID_SPEC, message, generation, now),
    ).to_manifest()
    return {key: manifest[key] for key in ("observedGeneration", "phase", "reason", "conditions")}


def dollars(amount: Decimal | None) -> str:
    """Return an amount for a column; empty when it is unknown."""
    if amount is None:
        return ""
    return f"${amount:.2f}" if amount >= Decimal("0.01") or not amount else f"${amount:.4f}"


def _conditions(
    phase: PackagePhase,
    reason: str,
    message: str,
    generation: int,
    now: datetime,
    old: tuple[Condition, ...] = (),
) -> tuple[Condition, ...]:
    """Return the conditions for that phase; unchanged ones keep their transition time."""
    wanted = {
        "Ready": phase is PackagePhase.SUCCEEDED,
        "Progressing": phase in PROGRESSING,
        "Stalled": phase in NEEDS_A_PERSON,
    }
    since = {(item.type, str(item.status)): item.last_transition_time for item in old}
    return tuple(
        Condition(
            type=kind,
            status="True" if holds else "False",
            reason=reason,
            message=message,
            observed_generation=generation,
            last_transition_time=since.get((kind, str(holds)), _seconds(now)),
        )
        for kind, holds in wanted.items()
    )


def _subtask_status(
    seen: Observed, decision: Decision, record: SubtaskRecord, child: SubtaskObject
) -> SubtaskObjectStatus:
    old = child.status
    attempts = {attempt.number: attempt for attempt in old.attempts}
    mine = [item for item in decision.attempt_results if item.member.subtask == record.id]
    for attempt_result in mine:
        number = attempt_result.member.attempt
        begun = attempts.pop(number, None)
        if attempt_result.ended.begun:
            attempts[number] = _ended_attempt(seen, attempt_result, begun)
    comes_later = record.phase is SubtaskPhase.QUEUED and record.reason == COMES_LATER
    if record.phase in IN_EPISODE and record.attempts not in attempts and not comes_later:
        attempts[record.attempts] = Attempt(
            number=record.attempts,
            job_name=_job_of(seen, decision, record),
            context_mode=seen.package.spec.context.mode,
            start_time=_seconds(seen.now),
        )
    transitions = old.transitions
    if record.phase is not old.phase:
        change = Transition(
            time=_seconds(seen.now),
            from_phase=old.phase,
            to_phase=record.phase,
            reason=record.reason,
        )
        transitions = (*transitions, change)[-TRANSITIONS_KEPT:]
    span = time_range_after(
        TimeRange(start=old.start_time, end=old.completion_time),
        runs=record.phase in IN_EPISODE,
        over=record.phase in OVER,
        now=seen.now,
    )
    entry = next(item for item in seen.package.spec.subtasks if item.id == record.id)
    return SubtaskObjectStatus(
        observed_generation=child.metadata.generation,
        phase=record.phase,
        marker=record.marker,
        reason=record.reason,
        message=whole_message(record, [*(item.ended.message for item in mine), old.message]),
        not_before=record.not_before,
        commit=record.commit,
        attempt_count=record.attempts_begun,
        start_time=span.start,
        completion_time=span.end,
        duration=span.duration,
        cost=dollars(record.cost_usd),
        attempts=_kept([attempts[number] for number in sorted(attempts)]),
        transitions=transitions,
        guidance=guidance_given(seen, entry, old),
        interventions=interventions_after(seen, record, entry, old),
    )


def _waiting_since(seen: Observed, decision: Decision) -> datetime | None:
    """Return the time since which every episode, except cancelled ones, has ended with a wait."""
    begun = [item.ended for item in decision.attempt_results if item.ended.begun]
    conclusive = [ended for ended in begun if ended.outcome is not Outcome.CANCELLED]
    if any(row_of(ended).next not in (NextStep.BACKOFF, NextStep.PROBE) for ended in conclusive):
        return None
    return seen.package.status.waiting_since or (_seconds(seen.now) if conclusive else None)


def _kept(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Return the last attempts; of consecutive probes with the same end, only the last is kept.

    Otherwise the probes of a stalled package would displace its earlier attempts.
    """
    pairs = zip_longest(attempts, attempts[1:])
    told = [attempt for attempt, later in pairs if not (later and _is_repeated(attempt, later))]
    return tuple(told)[-ATTEMPTS_KEPT:]


def _is_repeated(attempt: Attempt, later: Attempt) -> bool:
    alike = (attempt.outcome, attempt.message) == (later.outcome, later.message)
    return alike and str(attempt.outcome) in STALLING


def _job_of(seen: Observed, decision: Decision, record: SubtaskRecord) -> str:
    """The name of the Job that the subtask is in: it is named after the first of its batch."""
    starts = (item for item in decision.actions if isinstance(item, StartEpisode))
    batches = [(item.order.episode, item.members) for item in starts]
    batches += [(episode.name, episode.members) for episode in seen.episodes]
    mine = (record.id, record.attempts)
    found = (
        name
        for name, members in batches
        if any((member.subtask, member.attempt) == mine for member in members)
    )
    return next(found, "")


def _ended_attempt(seen: Observed, attempt_result: AttemptResult, begun: Attempt | None) -> Attempt:
    episode, ended = attempt_result.episode, attempt_result.ended
    report, result = ended.report, ended.result
    share = share_of(ended) or Usage()
    start = begun.start_time if begun else None
    if start is None and episode.uid:
        start = _seconds(episode.created)
    return Attempt(
        number=attempt_result.member.attempt,
        job_name=episode.name or (begun.job_name if begun else ""),
        context_mode=episode.mode or (begun.context_mode if begun else None),
        start_time=start,
        completion_time=_seconds(seen.now),
        outcome=ended.outcome,
        message=ended.message,
        summary=result.summary if result else "",
        exit_code=result.exit_code if result else None,
        turns=share.turns,
        usage=TokenUsage(
            cost_usd=Decimal(share.cost_usd) if share.cost_usd else None,
            **{name: getattr(share, name) for name in TOKENS},
        ),
        verify=_verify(attempt_result),
        warnings=result.warnings if result else (),
        log_tail=report.log_tail if report else "",
        phases=_phases(attempt_result),
    )


def _verify(attempt_result: AttemptResult) -> VerifyStatus | None:
    result = attempt_result.ended.result
    if result is None or result.verify is None:
        return None
    verify = result.verify
    return VerifyStatus(
        exit_code=verify.exit_code, duration_seconds=verify.duration_seconds, tail=verify.tail
    )


def _phases(attempt_result: AttemptResult) -> dict[str, float]:
    """Seconds from the runner's start to each phase."""
    report = attempt_result.ended.report
    if report is None or PHASES[0] not in report.phases:
        return {}
    began = report.phases[PHASES[0]]
    known = {name: at for name, at in report.phases.items() if name in PHASES}
    return {name: round(at - began, 3) for name, at in known.items()}


def _seconds(time: datetime) -> datetime:
    return time.astimezone(UTC).replace(microsecond=0)

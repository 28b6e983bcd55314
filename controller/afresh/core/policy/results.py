"""Builds the results that several rules return."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from afresh.api.agent_class import Gate
from afresh.api.package_status import SharedWait
from afresh.api.phases import PackagePhase
from afresh.api.subtask import SubtaskEntry
from afresh.contract.order import Budget
from afresh.contract.outcomes import is_overdue
from afresh.core.decision import RuleResult, StartEpisode
from afresh.core.history.shared_causes import refused_message
from afresh.core.history.shared_waits import behind, phase_of, probe_text
from afresh.core.history.transitions import IN_EPISODE, STALLING, is_cancelled, is_due
from afresh.core.job_inputs import generations_of, image_set_of, inputs_of
from afresh.core.names import job_name, probe_of
from afresh.core.observed import Episode, Member
from afresh.core.orders import order_of
from afresh.core.reasons import Reason
from afresh.core.situation import Situation

# An episode that probes a gate sends an early hint, so that the gate opens soon.
PROBE_HINT_SECONDS = 2
# The pause before an object that the API server refused is tried again.
REFUSED_AGAIN = timedelta(seconds=30)
# The episode that passes a gate wakes the packages behind it; this pause covers a lost wake-up.
GATE_AGAIN = timedelta(seconds=60)
BEHIND = "The plan on the branch is being updated to match the status."
IN_QUEUE = (
    "The Job waits to be admitted by its queue; if this lasts, check that spec.queueName names a "
    "LocalQueue of this namespace."
)


def stall(reason: Reason, message: str) -> RuleResult:
    """Return a Stalled result: nothing starts until somebody corrects what the message names."""
    return RuleResult(
        phase=PackagePhase.STALLED, reason=reason, message=message, may_push_plan=False
    )


def once_idle(situation: Situation, result: RuleResult) -> RuleResult:
    """Return `result`, or while episodes are live, the result that describes them."""
    return keep_running(situation) if situation.live else result


def at_end(situation: Situation, phase: PackagePhase, reason: Reason, message: str) -> RuleResult:
    """Return the result of a package with nothing left to start.

    While episodes are live, the result describes them; then, while the branch lacks the current
    plan, the result is PlanBehind.
    """
    if situation.live:
        return keep_running(situation)
    if situation.unpushed_plan is None:
        return RuleResult(phase=phase, reason=reason, message=message)
    record, gate = situation.syncs.record, situation.waits.strongest
    if record and record.reason == Reason.BRANCH_IN_USE and waits_for_sync(situation):
        return RuleResult(
            phase=PackagePhase.STALLED, reason=Reason.BRANCH_IN_USE, message=record.message
        )
    why = gate.message if gate else record.message if record else ""
    if situation.obstacle and not gate:
        why = refused_message(situation.obstacle)
    message = f"{BEHIND} It waits: {why}" if why else BEHIND
    return RuleResult(phase=PackagePhase.PENDING, reason=Reason.PLAN_BEHIND, message=message)


def waits_for_sync(situation: Situation) -> bool:
    """Whether the next sync is not due yet: one has failed before."""
    record = situation.syncs.record
    return record is not None and not is_due(record, situation.now)


def at_gate(situation: Situation, wait: SharedWait, **fields: Any) -> RuleResult:
    """Return the result of a package that waits for the gate or tries it."""
    return RuleResult(
        phase=phase_of(wait, situation.now),
        reason=wait.reason,
        message=wait.message,
        wait=wait,
        **fields,
    )


def keep_running(situation: Situation) -> RuleResult:
    """Return the result that describes the live episodes: running, queued, starting or probing."""
    own = situation.waits.own
    if own and any(episode.name == own.episode for episode, _ in situation.live):
        return at_gate(situation, own)
    answer = _live_result(situation)
    return replace(answer, wait=behind(situation.seen, own)) if own else answer


def _live_result(situation: Situation) -> RuleResult:
    kept = [(episode, live) for episode, live in situation.live if live.problem]
    queued = all(live.queued for _, live in situation.live)
    stopping = next((r for r in situation.records if is_cancelled(r)), None)
    probed = next((r for r in situation.records if r.reason in STALLING), None)
    names = running_sentence([current_of(situation, episode) for episode, _ in situation.live])
    if probed:
        message = situation.message_of(probed)
        return RuleResult(phase=PackagePhase.STALLED, reason=probed.reason, message=message)
    if stopping:
        message = f"The episode of {stopping.id} is being stopped."
        return RuleResult(
            phase=PackagePhase.RUNNING, reason=Reason.EPISODE_RUNNING, message=message
        )
    if queued:
        return RuleResult(phase=PackagePhase.QUEUED, reason=Reason.EPISODE_QUEUED, message=IN_QUEUE)
    if kept:
        since = min(episode.released or episode.created for episode, _ in kept)
        overdue = is_overdue(since, situation.now)
        return RuleResult(
            phase=PackagePhase.STALLED if overdue else PackagePhase.PENDING,
            reason=Reason.EPISODE_NOT_STARTED,
            message=kept[0][1].problem or "",
        )
    return RuleResult(phase=PackagePhase.RUNNING, reason=Reason.EPISODE_RUNNING, message=names)


def current_of(situation: Situation, episode: Episode) -> str:
    """Return the episode's current subtask: the first of its batch that has not ended."""
    records = situation.by_id
    known = (name for name in episode.subtasks if name in records)
    running = (name for name in known if records[name].phase in IN_EPISODE)
    return next(running, episode.subtasks[-1])


def running_sentence(subtasks: list[str]) -> str:
    """Return the sentence that names the running subtasks."""
    verb = "is" if len(subtasks) == 1 else "are"
    return f"{', '.join(subtasks)} {verb} running."


def start_of(
    situation: Situation,
    batch: Sequence[SubtaskEntry],
    *,
    budget: Budget | None,
    gate: Gate | None,
    wait: SharedWait | None = None,
) -> StartEpisode:
    """Return the start of an episode for `batch`, with attempt numbers that were never used.

    `gate` is the credential's closed gate that the episode probes, `wait` that of a shared cause.
    """
    members = tuple(_member(situation, entry) for entry in batch)
    metadata = situation.package.metadata
    first = members[0]
    name = job_name(metadata.name, first.subtask, first.attempt, metadata.uid)
    own = {"hint_seconds": PROBE_HINT_SECONDS} if gate else {}
    probe = probe_text(wait) if wait else ""
    return StartEpisode(
        members=members,
        order=order_of(situation.seen, situation.state, batch, episode=name, budget=budget, **own),
        generations=generations_of(situation.seen),
        inputs=inputs_of(situation.seen, members),
        images=image_set_of(situation.package, situation.agent_class)
        if situation.agent_class
        else "",
        probe=probe_of(gate) if gate else probe,
    )


def _member(situation: Situation, entry: SubtaskEntry) -> Member:
    known = [episode.member(entry.id) for episode in situation.seen.episodes]
    taken = [member.attempt for member in known if member]
    attempt = max([situation.by_id[entry.id].attempts, *taken]) + 1
    return Member(subtask=entry.id, attempt=attempt, revision=entry.revision)


def until(then: datetime, now: datetime) -> timedelta:
    """Return the time left, never negative."""
    return max(then - now, timedelta(0))

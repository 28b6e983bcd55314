"""What rules answer with: the pieces that several of them share."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from afresh.api.agent_class import Gate
from afresh.api.package_status import SharedWait, SubtaskRecord
from afresh.api.phases import PackagePhase
from afresh.api.subtask import SubtaskEntry
from afresh.contract.order import Budget
from afresh.core.decision import RuleResult, StartEpisode
from afresh.core.history.replay import PackageState
from afresh.core.history.shared_waits import behind, phase_of, probe_text
from afresh.core.history.transitions import IN_EPISODE, STALLING, is_cancelled
from afresh.core.job_inputs import generations_of, image_set_of, inputs_of
from afresh.core.names import job_name, probe_of
from afresh.core.observed import Episode, Member, Observed
from afresh.core.orders import order_of
from afresh.core.reasons import Reason

# An episode that probes a gate tells soon whether the provider answers.
PROBE_HINT_SECONDS = 2
# What the API server did not let be created is tried again after.
REFUSED_AGAIN = timedelta(seconds=30)
# A gate is opened by whoever passes it, and wakes those behind it; this is for what nobody tells.
GATE_AGAIN = timedelta(seconds=60)
IN_QUEUE = (
    "The Job waits to be admitted by its queue; if it stays so, see whether spec.queueName names a "
    "LocalQueue of this namespace."
)


def stall(reason: Reason, message: str) -> RuleResult:
    """Say that nothing goes on until somebody corrects what the message names."""
    return RuleResult(phase=PackagePhase.STALLED, reason=reason, message=message)


def at_gate(seen: Observed, wait: SharedWait, **fields: Any) -> RuleResult:
    """Say the same of every package at the gate, whether it waits behind it or tries it."""
    return RuleResult(
        phase=phase_of(wait, seen.now),
        reason=wait.reason,
        message=wait.message,
        wait=wait,
        **fields,
    )


def keep_running(seen: Observed, state: PackageState) -> RuleResult:
    """Say what the live episodes do: run, wait in a queue, fail to start, or probe."""
    own = state.waits.own
    if own and any(episode.name == own.episode for episode, _ in state.live):
        return at_gate(seen, own)
    answer = _go_on(state)
    return replace(answer, wait=behind(seen, own)) if own else answer


def _go_on(state: PackageState) -> RuleResult:
    problem = next((live.problem for _, live in state.live if live.problem), None)
    queued = all(live.queued for _, live in state.live)
    stopping = next((r for r in state.records if is_cancelled(r)), None)
    probed = next((r for r in state.records if r.reason in STALLING), None)
    names = running_sentence([current_of(state, episode) for episode, _ in state.live])
    if probed:
        message = state.message_of(probed)
        return RuleResult(phase=PackagePhase.STALLED, reason=probed.reason, message=message)
    if stopping:
        message = f"The episode of {stopping.id} is being stopped."
        return RuleResult(
            phase=PackagePhase.RUNNING, reason=Reason.EPISODE_RUNNING, message=message
        )
    if queued:
        return RuleResult(phase=PackagePhase.QUEUED, reason=Reason.EPISODE_QUEUED, message=IN_QUEUE)
    if problem:
        return RuleResult(
            phase=PackagePhase.PENDING, reason=Reason.EPISODE_NOT_STARTED, message=problem
        )
    return RuleResult(phase=PackagePhase.RUNNING, reason=Reason.EPISODE_RUNNING, message=names)


def current_of(state: PackageState, episode: Episode) -> str:
    """Return the subtask that the episode is at: the first of its batch that is not ended."""
    records = state.by_id()
    running = (name for name in episode.subtasks if name in records and _runs(records[name]))
    return next(running, episode.subtasks[-1])


def _runs(record: SubtaskRecord) -> bool:
    return record.phase in IN_EPISODE


def running_sentence(subtasks: list[str]) -> str:
    """Return the sentence that names the running subtasks."""
    verb = "is" if len(subtasks) == 1 else "are"
    return f"{', '.join(subtasks)} {verb} running."


def start_of(
    seen: Observed,
    state: PackageState,
    batch: Sequence[SubtaskEntry],
    *,
    budget: Budget | None,
    gate: Gate | None,
    wait: SharedWait | None = None,
) -> StartEpisode:
    """Return the start of an episode for `batch`; its attempts' numbers were never used.

    `gate` is the credential's closed gate that the episode probes, `wait` that of a shared cause.
    """
    members = tuple(_member(seen, state, entry) for entry in batch)
    metadata = seen.package.metadata
    first = members[0]
    name = job_name(metadata.name, first.subtask, first.attempt, metadata.uid)
    own = {"hint_seconds": PROBE_HINT_SECONDS} if gate else {}
    probe = probe_text(wait) if wait else ""
    return StartEpisode(
        members=members,
        order=order_of(seen, state, batch, episode=name, budget=budget, **own),
        generations=generations_of(seen),
        inputs=inputs_of(seen, members),
        images=image_set_of(seen.package, seen.agent_class) if seen.agent_class else "",
        probe=probe_of(gate) if gate else probe,
    )


def _member(seen: Observed, state: PackageState, entry: SubtaskEntry) -> Member:
    known = [episode.member(entry.id) for episode in seen.episodes]
    taken = [member.attempt for member in known if member]
    attempt = max([state.record(entry.id).attempts, *taken]) + 1
    return Member(subtask=entry.id, attempt=attempt, revision=entry.revision)


def is_due(record: SubtaskRecord, now: datetime) -> bool:
    """Whether the subtask has waited long enough."""
    return record.not_before is None or record.not_before <= now


def until(then: datetime, now: datetime) -> timedelta:
    """Return the time left, never negative."""
    return max(then - now, timedelta(0))

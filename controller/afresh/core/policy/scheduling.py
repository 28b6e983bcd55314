"""The rules that start an episode, or make it wait.

This module owns how a package uses what it shares with others: gates, and the places of a class.
"""

from collections.abc import Sequence
from datetime import timedelta
from itertools import takewhile

from afresh.api.package_status import SharedWait
from afresh.api.phases import PackagePhase
from afresh.api.subtask import SubtaskEntry
from afresh.contract import codec
from afresh.contract.order import ORDER_MAX_BYTES, Budget
from afresh.contract.outcomes import SLOW_PAUSE, is_overdue
from afresh.contract.words import Checkout
from afresh.core.decision import RuleResult, StartEpisode
from afresh.core.history import budget
from afresh.core.history.credential_gate import gate_sentence
from afresh.core.history.shared_causes import TABLE, Cause
from afresh.core.history.shared_waits import behind, concerns, may_try, probe_text, tried_by
from afresh.core.history.transitions import STALLING, started, while_live
from afresh.core.policy.batches import Batch, batches
from afresh.core.policy.plan_sync import push_probe
from afresh.core.policy.results import (
    GATE_AGAIN,
    IN_QUEUE,
    at_gate,
    current_of,
    keep_running,
    once_idle,
    running_sentence,
    stall,
    start_of,
    until,
)
from afresh.core.policy.side_by_side import side_by_side
from afresh.core.reasons import Reason
from afresh.core.situation import Situation

# A package that waits for others is woken when they end; this pause covers a lost wake-up.
TAKEN_AGAIN = timedelta(seconds=30)


def shared_cause(situation: Situation) -> RuleResult | None:
    """Several packages failed for the same cause: one episode tries at intervals, others wait."""
    waits = situation.waits
    if not waits.closed or not situation.due or situation.unconcerned:
        return None
    others = situation.limits
    is_full = 0 in (others.class_free, others.first_free, others.room)
    held = [wait for wait in waits.closed if is_full or not may_try(situation.seen, wait)]
    if situation.live:
        return keep_running(situation)
    if held or situation.syncs.live or situation.obstacle:
        shown = waits.own or max(held or waits.closed, key=lambda wait: wait.until)
        again = until(shown.until, situation.now) if shown.until > situation.now else GATE_AGAIN
        return at_gate(situation, behind(situation.seen, shown), recheck_after=again)
    without_agent = [wait for wait in waits.closed if TABLE[Cause(wait.cause)].tries_without_agent]
    if not without_agent:
        return None
    start = push_probe(situation, probe=probe_text(without_agent[0]))
    tried = tried_by(situation.seen, without_agent[0], start.order.episode)
    return at_gate(situation, tried, actions=(start,))


def first_start(situation: Situation) -> RuleResult | None:
    """Until one pod of the class with these images has started, only a few are created."""
    return _without_place(
        situation,
        situation.limits.first_free,
        Reason.FIRST_START,
        f"The first pods of the AgentClass {situation.spec.agent_class_name} with these images "
        "are starting; the package continues when one has started.",
    )


def no_capacity(situation: Situation) -> RuleResult | None:
    """As many pods wait for a node as an autoscaler needs to see."""
    return _without_place(
        situation,
        situation.limits.room,
        Reason.NO_CAPACITY,
        f"Pods of the AgentClass {situation.spec.agent_class_name} in this namespace wait for "
        "room on a node; the package continues when one has a node.",
    )


def class_busy(situation: Situation) -> RuleResult | None:
    """The class runs as many episodes as it may, or others have waited longer."""
    return _without_place(
        situation,
        situation.limits.class_free,
        Reason.CLASS_BUSY,
        f"The AgentClass {situation.spec.agent_class_name} runs as many episodes as its "
        "maxConcurrentEpisodes allows; the package waits for its turn.",
    )


def _without_place(
    situation: Situation, free: int | None, reason: Reason, message: str
) -> RuleResult | None:
    """Return a wait if subtasks are due and `free` is 0, else None; `free` None: no limit."""
    if free is None or free > 0 or not situation.due:
        return None
    waiting = RuleResult(
        phase=PackagePhase.PENDING, reason=reason, message=message, recheck_after=TAKEN_AGAIN
    )
    return once_idle(situation, waiting)


def gate_closed(situation: Situation) -> RuleResult | None:
    """The provider limits the credential: one package tries at intervals, the others wait."""
    gate = situation.gate
    if gate is None or not situation.due:
        return None
    mine = not situation.limits.gate_taken and not situation.live
    if gate == situation.limits.gate and gate.until <= situation.now and mine:
        return None
    # If the provider names a time, the package waits until then, however long that is.
    named = gate.until - situation.now > SLOW_PAUSE
    overdue = is_overdue(gate.since, situation.now) and not named
    again = until(gate.until, situation.now) if gate.until > situation.now else TAKEN_AGAIN
    waiting = RuleResult(
        phase=PackagePhase.STALLED if overdue else PackagePhase.PENDING,
        reason=Reason.GATE_CLOSED,
        message=gate_sentence(gate),
        recheck_after=again,
    )
    return once_idle(situation, waiting)


def subtask_ready(situation: Situation) -> RuleResult | None:
    """A subtask may run now: start a fresh agent for the first batch in list order."""
    found = _next_batches(situation)
    if not found:
        return None
    found, share = _affordable(situation, found)
    if not found:  # live episodes hold what is left of the budget
        return keep_running(situation)
    gate, wait = situation.gate, _tried(situation, found)
    starts = [start_of(situation, batch, budget=share, gate=gate, wait=wait) for batch in found]
    large = next((a for a in starts if len(codec.dumps(a.order).encode()) > ORDER_MAX_BYTES), None)
    if large:
        return stall(
            Reason.ORDER_TOO_LARGE,
            f"The Order for {large.members[0].subtask} is over 200 KiB; shorten its prompt, its "
            "guidance or the goal.",
        )
    return _begun(situation, starts, wait)


def _affordable(situation: Situation, found: list[Batch]) -> tuple[list[Batch], Budget | None]:
    """Return the batches that the budget can pay for, and the share of each."""
    live = [episode for episode, _ in situation.live]
    for count in range(len(found), 0, -1):
        try:
            share = budget.shares(situation.spec.budget, situation.usage, live, count)
        except ValueError:
            continue
        able = [batch for batch in found if _is_enough(situation, batch, share)]
        if len(able) >= count:
            return able[:count], share
    return [], None


def _is_enough(situation: Situation, batch: Batch, share: Budget | None) -> bool:
    return budget.is_enough(share, situation.by_id[batch[0].id].insufficient)


def _tried(situation: Situation, found: Sequence[Batch]) -> SharedWait | None:
    """Return the gate that the batches try: the package's own, else the one closed the longest."""
    ids = [entry.id for batch in found for entry in batch]
    met = [wait for wait in situation.waits.closed if concerns(situation.seen, wait, ids)]
    own = situation.waits.own
    return own if own in met else max(met, key=lambda wait: wait.until, default=None)


def _begun(
    situation: Situation, starts: Sequence[StartEpisode], tried: SharedWait | None
) -> RuleResult:
    """Return the result with the starts; one that probes a stall leaves the package stalled."""
    queued = situation.spec.queue_name is not None
    begun = {member.subtask: member for action in starts for member in action.members}
    first = {action.members[0].subtask for action in starts}
    changed = tuple(
        while_live(
            started(record, begun[record.id].attempt), queued=queued, later=record.id not in first
        )
        if record.id in begun
        else record
        for record in situation.records
    )
    own = situation.waits.own
    wait = tried_by(situation.seen, tried, starts[0].order.episode) if tried else None
    phase, reason = PackagePhase.RUNNING, str(Reason.EPISODE_RUNNING)
    names = [current_of(situation, episode) for episode, _ in situation.live]
    message = running_sentence([*names, *(action.members[0].subtask for action in starts)])
    probed = next((record for record in changed if record.reason in STALLING), None)
    if probed:
        phase, reason = PackagePhase.STALLED, probed.reason
        message = situation.message_of(probed)
    elif wait:
        return at_gate(situation, wait, actions=tuple(starts), records=changed)
    elif own:  # the cause affects another subtask, not the one that starts
        wait = behind(situation.seen, own)
    elif queued and all(live.queued for _, live in situation.live):
        phase, reason, message = PackagePhase.QUEUED, str(Reason.EPISODE_QUEUED), IN_QUEUE
    return RuleResult(
        phase=phase,
        reason=reason,
        message=message,
        actions=tuple(starts),
        records=changed,
        wait=wait,
    )


def _alike(batch: Batch, situation: Situation) -> Batch:
    """Return the longest start of the batch that one pod can verify: same image, same checkout."""

    def kind(entry: SubtaskEntry) -> tuple[Checkout, str | None]:
        verify = situation.package.verify_of(entry)
        return verify.checkout, verify.image

    first = kind(batch[0])
    return tuple(takewhile(lambda entry: kind(entry) == first, batch))


def _next_batches(situation: Situation) -> list[Batch]:
    """Return the batches to start now: up to `parallelism`, or one if it probes a gate or stall."""
    spec, free_of_class = situation.spec, situation.limits.class_free
    free = max(1, spec.parallelism) - len(situation.live)
    for limit in (free_of_class, situation.limits.first_free, situation.limits.room):
        free = free if limit is None else min(free, limit)
    able = situation.unconcerned or situation.due
    found = batches(spec.subtasks, situation.by_id, able, spec.context)
    found = [_alike(batch, situation) for batch in found]
    stalls = [b for b in found if situation.by_id[b[0].id].reason in STALLING]
    held = situation.waits.closed and not situation.unconcerned
    if stalls or situation.gate or held:
        return [(stalls or found)[0][:1]] if found else []
    room = max(0, spec.max_episodes - situation.usage.episodes - len(situation.live))
    by_id = {entry.id: entry for entry in spec.subtasks}
    live = [tuple(by_id[n] for n in e.subtasks if n in by_id) for e, _ in situation.live]
    return side_by_side(found, live, situation.state.conflicts, most=min(free, room))

"""The rules about starting an episode: whether it may, and with what work.

Owns what many packages share (a credential's gate, a class's episodes) as one package meets it.
"""

from collections.abc import Sequence
from datetime import timedelta
from itertools import takewhile

from afresh.api.package_status import SharedWait, SubtaskRecord
from afresh.api.phases import PackagePhase
from afresh.api.subtask import SubtaskEntry
from afresh.contract import codec
from afresh.contract.order import ORDER_MAX_BYTES, Budget
from afresh.contract.outcomes import SLOW_PAUSE, is_overdue
from afresh.contract.words import Checkout
from afresh.core.decision import RuleResult, StartEpisode
from afresh.core.history.replay import PackageState
from afresh.core.history.shared_causes import TABLE, Cause
from afresh.core.history.shared_waits import behind, concerns, may_try, probe_text, tried_by
from afresh.core.history.transitions import STALLING, started, while_live
from afresh.core.observed import Observed
from afresh.core.policy import budget, graph
from afresh.core.policy.batches import Batch, batches
from afresh.core.policy.credential_gate import gate_after, gate_sentence
from afresh.core.policy.plan_sync import push_probe
from afresh.core.policy.results import (
    GATE_AGAIN,
    IN_QUEUE,
    at_gate,
    current_of,
    is_due,
    keep_running,
    running_sentence,
    stall,
    start_of,
    until,
)
from afresh.core.policy.side_by_side import side_by_side
from afresh.core.reasons import Reason

# Whoever waits for others is woken when they are done; this is for what nobody tells.
TAKEN_AGAIN = timedelta(seconds=30)


def shared_cause(seen: Observed, state: PackageState) -> RuleResult | None:
    """Other packages meet the same cause: one episode tries now and then, the others wait."""
    waits = state.waits
    due = _due(seen, state)
    if not waits.closed or not due or _unconcerned(seen, state, due):
        return None
    others = seen.shared_limits
    is_full = 0 in (others.class_free, others.first_free, others.room)
    held = [wait for wait in waits.closed if is_full or not may_try(seen, wait)]
    if state.live:
        return keep_running(seen, state)
    if held or state.syncs.live or seen.obstacle:
        shown = waits.own or max(held or waits.closed, key=lambda wait: wait.until)
        again = until(shown.until, seen.now) if shown.until > seen.now else GATE_AGAIN
        return at_gate(seen, behind(seen, shown), recheck_after=again)
    without_agent = [wait for wait in waits.closed if TABLE[Cause(wait.cause)].tries_without_agent]
    if not without_agent:
        return None
    start = push_probe(seen, state, probe=probe_text(without_agent[0]))
    tried = tried_by(seen, without_agent[0], start.order.episode)
    return at_gate(seen, tried, actions=(start,))


def first_start(seen: Observed, state: PackageState) -> RuleResult | None:
    """Until a pod of the class with these images has started once, only a few are made."""
    return _without_place(
        seen,
        state,
        seen.shared_limits.first_free,
        Reason.FIRST_START,
        f"The first pods of the AgentClass {seen.package.spec.agent_class_name} with these images "
        "are starting; the package goes on when one has started.",
    )


def no_capacity(seen: Observed, state: PackageState) -> RuleResult | None:
    """As many pods wait for a node as an autoscaler needs to see."""
    return _without_place(
        seen,
        state,
        seen.shared_limits.room,
        Reason.NO_CAPACITY,
        f"Pods of the AgentClass {seen.package.spec.agent_class_name} in this namespace wait for "
        "room on a node; the package goes on when one has found it.",
    )


def class_busy(seen: Observed, state: PackageState) -> RuleResult | None:
    """The class runs as many episodes as it may, or others have waited longer."""
    return _without_place(
        seen,
        state,
        seen.shared_limits.class_free,
        Reason.CLASS_BUSY,
        f"The AgentClass {seen.package.spec.agent_class_name} runs as many episodes as its "
        "maxConcurrentEpisodes allows; the package waits for its turn.",
    )


def _without_place(
    seen: Observed, state: PackageState, free: int | None, reason: Reason, message: str
) -> RuleResult | None:
    """Wait where something may start and there is no place for it; None: any number may."""
    if free is None or free > 0 or not _due(seen, state):
        return None
    if state.live:
        return keep_running(seen, state)
    return RuleResult(
        phase=PackagePhase.PENDING, reason=reason, message=message, recheck_after=TAKEN_AGAIN
    )


def gate_closed(seen: Observed, state: PackageState) -> RuleResult | None:
    """The provider limits the credential: one package tries now and then, the others wait."""
    gate = gate_after(seen, state)
    if gate is None or not _due(seen, state):
        return None
    mine = not seen.shared_limits.gate_taken and not state.live
    if gate == seen.shared_limits.gate and gate.until <= seen.now and mine:
        return None
    if state.live:
        return keep_running(seen, state)
    # A provider that names a time is waited for until then, however long that is.
    named = gate.until - seen.now > SLOW_PAUSE
    overdue = is_overdue(gate.since, seen.now) and not named
    return RuleResult(
        phase=PackagePhase.STALLED if overdue else PackagePhase.PENDING,
        reason=Reason.GATE_CLOSED,
        message=gate_sentence(gate),
        recheck_after=until(gate.until, seen.now) if gate.until > seen.now else TAKEN_AGAIN,
    )


def subtask_ready(seen: Observed, state: PackageState) -> RuleResult | None:
    """A subtask may run now: start a fresh agent for the first batch in list order."""
    found = _next_batches(seen, state)
    if not found:
        return None
    found, share = _affordable(seen, state, found)
    if not found:  # live episodes hold what is left of the budget
        return keep_running(seen, state)
    gate, wait = gate_after(seen, state), _tried(seen, state, found)
    starts = [start_of(seen, state, batch, budget=share, gate=gate, wait=wait) for batch in found]
    large = next((a for a in starts if len(codec.dumps(a.order).encode()) > ORDER_MAX_BYTES), None)
    if large:
        return stall(
            Reason.ORDER_TOO_LARGE,
            f"What {large.members[0].subtask} is told is over 200 KiB; shorten its prompt, its "
            "guidance or the goal.",
        )
    return _begun(seen, state, starts, wait)


def _affordable(
    seen: Observed, state: PackageState, found: list[Batch]
) -> tuple[list[Batch], Budget | None]:
    """As many of the batches as the budget has something left for, and the share of each."""
    live = [episode for episode, _ in state.live]
    for count in range(len(found), 0, -1):
        try:
            share = budget.shares(seen.package.spec.budget, state.usage, live, count)
        except ValueError:
            continue
        able = [batch for batch in found if _is_enough(state, batch, share)]
        if len(able) >= count:
            return able[:count], share
    return [], None


def _is_enough(state: PackageState, batch: Batch, share: Budget | None) -> bool:
    return budget.is_enough(share, state.record(batch[0].id).insufficient)


def _tried(seen: Observed, state: PackageState, found: Sequence[Batch]) -> SharedWait | None:
    """Return the gate that the batches try: the package's own, or who stays closed for longest."""
    ids = [entry.id for batch in found for entry in batch]
    met = [wait for wait in state.waits.closed if concerns(seen, wait, ids)]
    own = state.waits.own
    return own if own in met else max(met, key=lambda wait: wait.until, default=None)


def _begun(
    seen: Observed,
    state: PackageState,
    starts: Sequence[StartEpisode],
    tried: SharedWait | None,
) -> RuleResult:
    """Say that the starts are made; one that probes a stall leaves the package stalled."""
    queued = seen.package.spec.queue_name is not None
    begun = {member.subtask: member for action in starts for member in action.members}
    first = {action.members[0].subtask for action in starts}
    changed = tuple(
        while_live(
            started(record, begun[record.id].attempt), queued=queued, later=record.id not in first
        )
        if record.id in begun
        else record
        for record in state.records
    )
    own = state.waits.own
    wait = tried_by(seen, tried, starts[0].order.episode) if tried else None
    phase, reason = PackagePhase.RUNNING, str(Reason.EPISODE_RUNNING)
    names = [current_of(state, episode) for episode, _ in state.live]
    message = running_sentence([*names, *(action.members[0].subtask for action in starts)])
    probed = next((record for record in changed if record.reason in STALLING), None)
    if probed:
        phase, reason = PackagePhase.STALLED, probed.reason
        message = state.message_of(probed)
    elif wait:
        return at_gate(seen, wait, actions=tuple(starts), records=changed)
    elif own:  # what starts does not meet the cause, another of the subtasks does
        wait = behind(seen, own)
    elif queued and all(live.queued for _, live in state.live):
        phase, reason, message = PackagePhase.QUEUED, str(Reason.EPISODE_QUEUED), IN_QUEUE
    return RuleResult(
        phase=phase,
        reason=reason,
        message=message,
        actions=tuple(starts),
        records=changed,
        wait=wait,
    )


def can_afford(seen: Observed, state: PackageState, record: SubtaskRecord) -> bool:
    """Whether all that is left of the budget is more than what was not enough for the subtask."""
    if record.insufficient is None:
        return True
    try:
        share = budget.shares(seen.package.spec.budget, state.usage, (), 1)
    except ValueError:
        return False
    return budget.is_enough(share, record.insufficient)


def _alike(batch: Batch, seen: Observed) -> Batch:
    """Return the beginning of the batch that one pod can verify: one image, one kind of tree."""

    def kind(entry: SubtaskEntry) -> tuple[Checkout, str | None]:
        verify = seen.package.verify_of(entry)
        return verify.checkout, verify.image

    first = kind(batch[0])
    return tuple(takewhile(lambda entry: kind(entry) == first, batch))


def _due(seen: Observed, state: PackageState) -> list[SubtaskEntry]:
    """The subtasks that are ready, need not wait and can be paid for, in list order."""
    return [
        entry
        for entry in graph.ready(seen.package.spec.subtasks, state.by_id())
        if is_due(state.record(entry.id), seen.now)
        and can_afford(seen, state, state.record(entry.id))
    ]


def _unconcerned(
    seen: Observed, state: PackageState, due: Sequence[SubtaskEntry]
) -> list[SubtaskEntry]:
    """Those whose pods meet none of the causes of which the gates are closed."""
    closed = state.waits.closed
    return [item for item in due if not any(concerns(seen, wait, (item.id,)) for wait in closed)]


def _next_batches(seen: Observed, state: PackageState) -> list[Batch]:
    """The batches to start now: as many as may run at a time, and one where one has to try."""
    spec, free_of_class = seen.package.spec, seen.shared_limits.class_free
    free = max(1, spec.parallelism) - len(state.live)
    for limit in (free_of_class, seen.shared_limits.first_free, seen.shared_limits.room):
        free = free if limit is None else min(free, limit)
    due = _due(seen, state)
    unconcerned = _unconcerned(seen, state, due)
    found = batches(spec.subtasks, state.by_id(), unconcerned or due, spec.context)
    found = [_alike(batch, seen) for batch in found]
    stalls = [b for b in found if state.record(b[0].id).reason in STALLING]
    if stalls or gate_after(seen, state) or (state.waits.closed and not unconcerned):
        return [(stalls or found)[0][:1]] if found else []
    room = max(0, spec.max_episodes - state.usage.episodes - len(state.live))
    by_id = {entry.id: entry for entry in spec.subtasks}
    live = [tuple(by_id[n] for n in e.subtasks if n in by_id) for e, _ in state.live]
    return side_by_side(found, live, state.conflicts, most=min(free, room))

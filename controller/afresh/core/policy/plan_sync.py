"""Syncs: Jobs with only the runner, which push the plan or test if the server accepts pushes.

This module owns when a sync starts, and its number. `history.plan_state` finds out whether the plan
is behind. Pure.
"""

from datetime import timedelta

from afresh.core.decision import RuleResult, StartSync
from afresh.core.names import sync_name
from afresh.core.orders import probe_order, sync_order
from afresh.core.policy.results import GATE_AGAIN, REFUSED_AGAIN, until, waits_for_sync
from afresh.core.situation import Situation


def plan_pushes(situation: Situation, answer: RuleResult) -> tuple[StartSync, ...]:
    """Return the sync to start besides `answer`, if the package is idle and its plan behind."""
    if not _is_wanted(situation, answer) or situation.unpushed_plan is None:
        return ()
    held = waits_for_sync(situation) or situation.obstacle or situation.waits.closed
    if held or situation.syncs.live:
        return ()
    attempt, name = _next(situation)
    order = sync_order(situation.seen, situation.state, episode=name)
    return (StartSync(attempt=attempt, plan=situation.unpushed_plan, order=order),)


def looks_at_plan(situation: Situation, answer: RuleResult) -> list[timedelta]:
    """Return the delays after which to look again because the plan is behind."""
    if not _is_wanted(situation, answer):
        return []
    looks = []
    if situation.obstacle:
        looks.append(REFUSED_AGAIN)
    if situation.waits.closed:  # the package is not woken when the gate opens
        looks.append(GATE_AGAIN)
    record = situation.syncs.record
    if record and record.not_before and waits_for_sync(situation):
        looks.append(until(record.not_before, situation.now))
    return looks


def _is_wanted(situation: Situation, answer: RuleResult) -> bool:
    is_idle = not (answer.actions or answer.records)
    return is_idle and answer.may_push_plan and situation.unpushed_plan is not None


def push_probe(situation: Situation, *, probe: str = "") -> StartSync:
    """Return the start of a sync that finds out whether the server accepts pushes.

    It needs no agent. It pushes the work that was kept after a refused push, else the plan. Its
    Report has `push_passed`, or says what was refused. `probe` is the gate that it tries.
    """
    attempt, name = _next(situation)
    order = probe_order(situation.seen, situation.state, episode=name)
    return StartSync(attempt=attempt, plan="", order=order, probe=probe)


def _next(situation: Situation) -> tuple[int, str]:
    """Return the number and the name of the next sync."""
    record = situation.syncs.record
    taken = [episode.attempt for episode in situation.seen.episodes if not episode.members]
    attempt = max([record.attempts if record else 0, *taken]) + 1
    metadata = situation.package.metadata
    return attempt, sync_name(metadata.name, attempt, metadata.uid)

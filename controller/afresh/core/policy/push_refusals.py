"""Decides what to do while the git server refuses the package's pushes.

This module owns the rule `push_refused`: a sync finds out whether the server accepts pushes again,
so that this costs no agent. Pure.
"""

from collections.abc import Sequence
from dataclasses import replace

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import PackagePhase
from afresh.contract.words import PushRefusal
from afresh.core.decision import RuleResult
from afresh.core.policy.plan_sync import push_probe
from afresh.core.policy.results import keep_running, until
from afresh.core.situation import Situation


def push_refused(situation: Situation) -> RuleResult | None:
    """The server refuses a push: a runner tries at intervals, or a person has to help."""
    refused = [record for record in situation.records if record.refused]
    if not refused or situation.spec.suspend:
        return None
    if situation.live:
        return keep_running(situation)
    first = _worst(refused)
    answer = RuleResult(phase=PackagePhase.STALLED, reason=first.reason, message=first.message)
    if first.refused is PushRefusal.WORK_ONLY or situation.syncs.live or situation.obstacle:
        return None if situation.obstacle else answer
    sync = situation.syncs.record
    waits = [record.not_before for record in refused if record.not_before]
    waits += [sync.not_before] if sync and sync.not_before else []
    due = max(waits, default=situation.now)
    if due > situation.now:
        return replace(answer, recheck_after=until(due, situation.now))
    return replace(answer, actions=(push_probe(situation),))


def _worst(refused: Sequence[SubtaskRecord]) -> SubtaskRecord:
    """Return the refusal to show: one that needs a person comes first."""
    hopeless = (item for item in refused if item.refused is PushRefusal.WORK_ONLY)
    return next(hopeless, refused[0])

"""Whether the repository's server takes the package's pushes, as far as episodes have told.

Owns what is recorded of that, and the rule for when a push was refused: a sync finds out whether
the server takes pushes again, and no agent is started for it. Pure.
"""

from collections.abc import Sequence
from dataclasses import replace

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import PackagePhase
from afresh.contract.words import PushRefusal
from afresh.core.decision import RuleResult
from afresh.core.history.replay import PackageState
from afresh.core.observed import Observed
from afresh.core.policy.plan_sync import push_probe
from afresh.core.policy.results import keep_running, until


def push_refused(seen: Observed, state: PackageState) -> RuleResult | None:
    """The server refuses a push: the runner alone tries now and then, or a person has to help."""
    refused = [record for record in state.records if record.refused]
    if not refused or seen.package.spec.suspend:
        return None
    if state.live:
        return keep_running(seen, state)
    first = _worst(refused)
    answer = RuleResult(phase=PackagePhase.STALLED, reason=first.reason, message=first.message)
    if first.refused is PushRefusal.WORK_ONLY or state.syncs.live or seen.obstacle:
        return None if seen.obstacle else answer
    sync = state.syncs.record
    waits = [record.not_before for record in refused if record.not_before]
    waits += [sync.not_before] if sync and sync.not_before else []
    due = max(waits, default=seen.now)
    if due > seen.now:
        return replace(answer, recheck_after=until(due, seen.now))
    return replace(answer, actions=(push_probe(seen, state),))


def _worst(refused: Sequence[SubtaskRecord]) -> SubtaskRecord:
    """What only a person can end comes first."""
    hopeless = (item for item in refused if item.refused is PushRefusal.WORK_ONLY)
    return next(hopeless, refused[0])

"""Whether the repository's server takes the package's pushes, as far as episodes have told.

Owns what is recorded of that, and the rule for when a push was refused: a sync finds out whether
the server takes pushes again, and no agent is started for it. Pure.
"""

from collections.abc import Sequence
from dataclasses import replace

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import PackagePhase
from afresh.contract.words import PushRefusal
from afresh.core.actions import Answer
from afresh.core.answers import go_on, until
from afresh.core.observed import Observed
from afresh.core.plan_sync import push_probe
from afresh.core.settle import Standing


def push_refused(seen: Observed, standing: Standing) -> Answer | None:
    """The server refuses a push: the runner alone tries now and then, or a person has to help."""
    refused = [record for record in standing.records if record.refused]
    if not refused or seen.package.spec.suspend:
        return None
    if standing.live:
        return go_on(seen, standing)
    first = _worst(refused)
    answer = Answer(phase=PackagePhase.STALLED, reason=first.reason, message=first.message)
    if first.refused is PushRefusal.WORK_ONLY or standing.syncs.live or seen.obstacle:
        return None if seen.obstacle else answer
    sync = standing.syncs.record
    waits = [record.not_before for record in refused if record.not_before]
    waits += [sync.not_before] if sync and sync.not_before else []
    due = max(waits, default=seen.now)
    if due > seen.now:
        return replace(answer, recheck_after=until(due, seen.now))
    return replace(answer, actions=(push_probe(seen, standing),))


def _worst(refused: Sequence[SubtaskRecord]) -> SubtaskRecord:
    """What only a person can end comes first."""
    hopeless = (item for item in refused if item.refused is PushRefusal.WORK_ONLY)
    return next(hopeless, refused[0])

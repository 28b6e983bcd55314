"""Whether the plan on the branch says what the status says.

Episodes write the plan as they go. Where none could (a pod that was killed, a user's skip, an
edited title), it is behind. Pure.
"""

from collections.abc import Sequence

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import SubtaskPhase
from afresh.api.work_package import WorkPackage
from afresh.contract import plan_file
from afresh.contract.report import Report
from afresh.core.decision import AttemptResult
from afresh.core.history.replay import PackageState
from afresh.core.observed import Observed
from afresh.core.orders import goal_of, plan_of

WORKED_ON = frozenset({SubtaskPhase.DONE, SubtaskPhase.NEEDS_REVIEW, SubtaskPhase.SKIPPED})


def unpushed_plan(seen: Observed, state: PackageState) -> str | None:
    """Return the digest of the plan that the branch should have; None: it has it.

    None too where nobody is to push it now: a live episode will, a person has to help first, or
    the branch is another package's, though all of this one's own work is done.
    """
    if seen.rival or seen.agent_class is None or state.live:
        return None
    if any(record.refused for record in state.records):
        return None
    wanted = wanted_digest(seen.package, state.records)
    last = last_pushed(state.attempt_results)
    known = state.syncs.pushed or (last and last.plan_digest) or seen.package.status.plan_digest
    begun = any(record.attempts and record.phase in WORKED_ON for record in state.records)
    is_behind = known != wanted if known else begun
    return wanted if is_behind else None


def last_pushed(attempt_results: Sequence[AttemptResult]) -> Report | None:
    """Return the Report of the episode that pushed last, of those that pushed a plan."""
    reports = [item.ended.report for item in attempt_results if item.ended.report]
    pushed = [report for report in reports if report.plan_digest]
    return max(pushed, key=lambda report: report.phases.get("pushed", 0.0), default=None)


def wanted_digest(package: WorkPackage, records: Sequence[SubtaskRecord]) -> str:
    """Return the digest of the plan that the records make."""
    by_id = {record.id: record for record in records}
    plan = plan_file.Plan(goal=goal_of(package), lines=plan_of(package, by_id))
    return plan_file.digest(plan_file.render(plan))

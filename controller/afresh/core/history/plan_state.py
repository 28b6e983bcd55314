"""Computes the plan from the records, and whether the branch has that plan.

Episodes push the plan with their work. If none could (a pod was killed, a user skipped a subtask or
edited a title), the branch's plan is behind. Pure.
"""

import re
from collections.abc import Mapping, Sequence

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import SubtaskPhase
from afresh.api.subtask import SubtaskEntry
from afresh.api.work_package import WorkPackage
from afresh.contract import plan_file
from afresh.contract.order import PlanLine
from afresh.contract.report import Report
from afresh.contract.words import Marker
from afresh.core.history.classify import AttemptResult
from afresh.core.history.replay import PackageState
from afresh.core.observed import Observed

_EPIC = re.compile(r"[^.]*?(\d+)\.")
WORKED_ON = frozenset({SubtaskPhase.DONE, SubtaskPhase.NEEDS_REVIEW, SubtaskPhase.SKIPPED})


def unpushed_plan(seen: Observed, state: PackageState) -> str | None:
    """Return the digest of the plan that the branch should have; None if the branch has it.

    Also returns None if no sync should push the plan now: because a live episode will push it, a
    person has to act first, or the branch belongs to another package and all work is done.
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
    """Return the Report of the last episode that pushed a plan, if there is one."""
    reports = [item.ended.report for item in attempt_results if item.ended.report]
    pushed = [report for report in reports if report.plan_digest]
    return max(pushed, key=lambda report: report.phases.get("pushed", 0.0), default=None)


def wanted_digest(package: WorkPackage, records: Sequence[SubtaskRecord]) -> str:
    """Return the digest of the plan that follows from the records."""
    by_id = {record.id: record for record in records}
    plan = plan_file.Plan(goal=goal_of(package), lines=plan_of(package, by_id))
    return plan_file.digest(plan_file.render(plan))


def goal_of(package: WorkPackage) -> str:
    """Return the package's goal, or its name if it has none."""
    return package.spec.goal or package.metadata.name


def plan_of(package: WorkPackage, records: Mapping[str, SubtaskRecord]) -> tuple[PlanLine, ...]:
    """Return the lines of the plan, in list order."""
    return tuple(
        PlanLine(
            id=item.id,
            title=title_of(item),
            marker=_marker(records[item.id]),
            revision=item.revision,
            epic=epic_of(item),
            commit=_commit(records[item.id]),
        )
        for item in package.spec.subtasks
    )


def _commit(record: SubtaskRecord) -> str | None:
    """Return the commit that the repository must have; None: it need not have one."""
    return (record.commit or None) if record.marker is Marker.DONE else None


def title_of(entry: SubtaskEntry) -> str:
    """Return the subtask's title, or its id if it has none."""
    return entry.title or entry.id


def epic_of(entry: SubtaskEntry) -> str:
    """Return the epic: the field, else the number before the first dot of the id or the title."""
    if entry.epic:
        return entry.epic
    matches = (_EPIC.match(text) for text in (entry.id, entry.title))
    return next((match[1] for match in matches if match), "")


def _marker(record: SubtaskRecord) -> Marker:
    """Return the marker in the plan; pending for a running subtask, as its work is not pushed."""
    return Marker.PENDING if record.marker is Marker.RUNNING else record.marker

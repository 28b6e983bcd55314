"""An Order without subtasks: the plan on the branch is made equal to the Order's.

Owns the course of a sync. There is no agent and no verify container in its pod.
"""

from afresh.contract.report import SYNC_ID, Result
from afresh.core import plan_file
from afresh.episode.ending import Ended
from afresh.episode.opening import Opening
from afresh.episode.repository import plan_commit, push_check, recorded
from afresh.episode.repository.plan_commit import PlanChange, Standing
from afresh.episode.workplace import Workplace


def run_sync(work: Workplace, opening: Opening) -> Result | None:
    """Push the plan of the Order and report what stands on the branch.

    Without a branch nothing is done, and the Report names no head. Returns a Result only if the
    sync has failed.
    """
    try:
        standing = _push(work, opening)
    except Ended as end:
        work.log.ended(end)
        return Result(
            id=SYNC_ID,
            outcome=end.outcome,
            unpushed=end.unpushed,
            is_servers=end.is_servers,
            message=end.message,
        )
    work.reporter.update(head=standing.head, plan_digest=standing.plan_digest)
    work.log.say("the plan is on the branch" if standing.head else "there is no branch yet")
    return None


def _push(work: Workplace, opening: Opening) -> Standing:
    order = work.order
    work.reporter.stage("prepare")
    start = opening.start()
    recorded.check(work, start)
    work.reporter.reached("prepared")
    work.reporter.stage("persist")
    if order.push_check:
        from afresh.episode.push_probe import probe_push  # noqa: PLC0415  # seldom needed

        standing = probe_push(work, start)
        work.reporter.reached("pushed")
        return standing
    plan = plan_file.Plan(goal=order.goal, lines=order.plan)
    change = PlanChange(text=plan_file.render(plan))
    try:
        standing = plan_commit.push_plan(work.git, order, start, change)
    except Ended as ended:
        raise push_check.refused(ended) from ended.__cause__
    if standing.head and standing.head != start.head:
        work.reporter.update(push_passed=True)
    work.reporter.reached("pushed")
    return standing

"""An Order without subtasks: the plan on the branch is made equal to the Order's.

Owns the course of a sync. There is no agent and no verify container in its pod.
"""

from afresh.contract import plan_file
from afresh.contract.report import SYNC_ID, Result
from afresh.episode.context import EpisodeContext
from afresh.episode.git import plan_commit, push_check, recorded_commits
from afresh.episode.git.plan_commit import PlanChange, Standing
from afresh.episode.stages.fetch import FetchUnderWay
from afresh.episode.stopped import SubtaskStopped


def run_sync(context: EpisodeContext, opening: FetchUnderWay) -> Result | None:
    """Push the plan of the Order and report what stands on the branch.

    Without a branch nothing is done, and the Report names no head. Returns a Result only if the
    sync has failed.
    """
    try:
        standing = _push(context, opening)
    except SubtaskStopped as end:
        context.log.ended(end)
        return Result(
            id=SYNC_ID,
            outcome=end.outcome,
            unpushed=end.unpushed,
            is_servers=end.is_servers,
            message=end.message,
        )
    context.reporter.update(head=standing.head, plan_digest=standing.plan_digest)
    context.log.say("the plan is on the branch" if standing.head else "there is no branch yet")
    return None


def _push(context: EpisodeContext, opening: FetchUnderWay) -> Standing:
    order = context.order
    context.reporter.stage("prepare")
    start = opening.start()
    recorded_commits.check(context, start)
    context.reporter.reached("prepared")
    context.reporter.stage("persist")
    if order.push_check:
        from afresh.episode.stages.push_probe import probe_push  # noqa: PLC0415  # seldom needed

        standing = probe_push(context, start)
        context.reporter.reached("pushed")
        return standing
    plan = plan_file.Plan(goal=order.goal, lines=order.plan)
    change = PlanChange(text=plan_file.render(plan))
    try:
        standing = plan_commit.push_plan(context.git, order, start, change)
    except SubtaskStopped as ended:
        raise push_check.refused(ended) from ended.__cause__
    if standing.head and standing.head != start.head:
        context.reporter.update(push_passed=True)
    context.reporter.reached("pushed")
    return standing

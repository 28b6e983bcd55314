"""Makes the plan on the branch equal to the Order's plan, in a sync."""

from afresh.contract import plan_file
from afresh.episode.context import EpisodeContext
from afresh.episode.git import plan_commit, push_check
from afresh.episode.git.plan_commit import PlanChange
from afresh.episode.state import BranchState, given
from afresh.episode.stopped import SubtaskStopped


def run(context: EpisodeContext, state: BranchState) -> None:
    """Push the plan of the Order. Raises SubtaskStopped if that fails."""
    order, start = context.order, given(state.start)
    plan = plan_file.Plan(goal=order.goal, lines=order.plan)
    change = PlanChange(text=plan_file.render(plan))
    try:
        state.on_branch = plan_commit.push_plan(context.git, order, start, change)
    except SubtaskStopped as stopped:
        raise push_check.refused(stopped) from stopped.__cause__
    if state.on_branch.head and state.on_branch.head != start.head:
        context.reporter.update(push_passed=True)
    context.reporter.reached("pushed")

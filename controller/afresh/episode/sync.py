"""Carries out an Order without subtasks: pushes the Order's plan, or tests whether pushes pass.

Owns the contents of its Report. Its pod has no container for an agent or for verify.
"""

from afresh.contract.report import SYNC_ID, Result
from afresh.episode.context import EpisodeContext
from afresh.episode.fetch_ahead import FetchUnderWay
from afresh.episode.pipeline import SYNC
from afresh.episode.stage import Loading, load_stages, run_stages
from afresh.episode.state import BranchState, EpisodeState, given
from afresh.episode.stopped import SubtaskStopped


def run_sync(context: EpisodeContext, fetch: FetchUnderWay) -> Result | None:
    """Run the stages of a sync, and report the head and the plan of the branch.

    If there is no branch, nothing is done and the Report names no head. Returns a Result only if
    the sync has failed.
    """
    load_stages(SYNC, Loading.AT_START)
    state = BranchState(episode=EpisodeState(fetch=fetch, order=context.order))
    try:
        run_stages(context, state, *SYNC)
    except SubtaskStopped as stopped:
        context.log.ended(stopped)
        return stopped.result(SYNC_ID)
    found = given(state.on_branch)
    context.reporter.update(head=found.head, plan_digest=found.plan_digest)
    context.log.say("the plan is on the branch" if found.head else "there is no branch yet")
    return None

"""An Order without subtasks: makes the plan on the branch equal to the Order's, or tries a push.

Owns its Report. There is no agent and no verify container in its pod.
"""

from afresh.contract.report import SYNC_ID, Result
from afresh.episode.context import EpisodeContext
from afresh.episode.fetch_ahead import FetchUnderWay
from afresh.episode.pipeline import SYNC
from afresh.episode.stage import Loading, load_stages, run_stages
from afresh.episode.state import BranchState, EpisodeState, given
from afresh.episode.stopped import SubtaskStopped


def run_sync(context: EpisodeContext, fetch: FetchUnderWay) -> Result | None:
    """Run the stages of a sync, and report what stands on the branch.

    Without a branch nothing is done, and the Report names no head. Returns a Result only if the
    sync has failed.
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

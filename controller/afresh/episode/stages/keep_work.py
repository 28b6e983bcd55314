"""Keeps the work of a failed attempt on the subtask's side ref, where people find it.

Owns which failures leave work to keep. Nothing here changes an outcome: what fails becomes a
warning. With the limit of `side_ref` it takes less than a minute, which the pod's deadline leaves.
"""

from afresh.episode.context import EpisodeContext
from afresh.episode.git import side_ref
from afresh.episode.state import SubtaskState, given


def run(context: EpisodeContext, state: SubtaskState) -> None:
    """Push the changes to the side ref, unless there are none or they are kept already.

    If the git server has just failed, the push is not tried: it would only take time.
    """
    left, result = given(state.snapshot), given(state.result)
    if not left.changes or result.unpushed or result.is_servers:
        return
    context.reporter.stage("aside")
    warning = side_ref.keep(context, state.task, left.head, left.tree)
    if warning:
        state.warnings += (warning,)

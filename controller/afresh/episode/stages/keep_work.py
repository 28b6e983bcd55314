"""Keeps the work of a failed attempt on the subtask's side ref, where people can find it.

Owns which failures leave work to keep. Nothing here changes an outcome: a failure becomes a
warning. The limit of `side_ref` keeps it below a minute, for which the pod's deadline has room.
"""

from afresh.episode.context import EpisodeContext
from afresh.episode.git import side_ref
from afresh.episode.state import SubtaskState, given


def run(context: EpisodeContext, state: SubtaskState) -> None:
    """Push the changes to the side ref, unless there are none or they are kept already.

    If the git server has just failed, no push is tried: it would only cost time.
    """
    left, result = given(state.snapshot), given(state.result)
    if not left.changes or result.unpushed or result.is_servers:
        return
    context.reporter.stage("keep")
    warning = side_ref.keep(context, state.task, left.head, left.tree)
    if warning:
        state.warnings += (warning,)

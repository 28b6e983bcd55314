"""Removes the work of an earlier attempt from its side ref once the subtask is done."""

from afresh.episode.context import EpisodeContext
from afresh.episode.git import side_ref
from afresh.episode.state import SubtaskState


def run(context: EpisodeContext, state: SubtaskState) -> None:
    """Remove the side ref. A failure becomes a warning."""
    warning = side_ref.remove(context, state.task.id)
    if warning:
        state.warnings += (warning,)

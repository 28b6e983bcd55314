"""Waits for the fetch, and checks that the repository has the commits that the Order names.

A later subtask of the episode starts from the branch as the one before it left it.
"""

from afresh.episode.context import EpisodeContext
from afresh.episode.git import fetching, recorded_commits
from afresh.episode.state import BranchState, EpisodeState


def run(context: EpisodeContext, state: BranchState) -> None:
    """Set `start`. Raises SubtaskStopped if the remote cannot be used or lacks a commit."""
    episode = state.episode
    if episode.start is not None:
        state.start = _after_last(context, episode, episode.start)
        return
    state.start = episode.fetch.start()
    recorded_commits.check(context, state.start)
    if context.order.tasks:
        context.reporter.update(head=state.start.head)
    else:
        context.reporter.reached("prepared")  # a sync prepares nothing else


def _after_last(
    context: EpisodeContext, episode: EpisodeState, start: fetching.BranchStart
) -> fetching.BranchStart:
    if episode.pushed is None or episode.pushed == start.head:
        return start
    return fetching.start_at(context.git, episode.pushed, start)

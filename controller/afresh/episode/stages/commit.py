"""Commits the candidate in the trusted repository. Nothing is pushed to the branch yet."""

from afresh.episode.context import EpisodeContext
from afresh.episode.git import snapshot
from afresh.episode.state import SubtaskState, given


def run(context: EpisodeContext, state: SubtaskState) -> None:
    """Create the commit that will be verified."""
    candidate = given(state.candidate)
    state.commit = snapshot.commit(
        *(context.git, context.order, state.task, candidate.snapshot, candidate.plan),
        context.log.redact,
    )
    context.reporter.reached("committed")

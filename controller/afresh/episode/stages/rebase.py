"""Applies the candidate's changes on top of a branch to which others have pushed."""

from afresh.episode.context import EpisodeContext
from afresh.episode.git import rebase
from afresh.episode.state import Candidate, SubtaskState, given


def run(context: EpisodeContext, state: SubtaskState) -> None:
    """Rebase the candidate onto the start. Raises SubtaskStopped if the two conflict."""
    candidate, start, order = given(state.candidate), given(state.start), state.episode.order
    rebased = rebase.rebase(context.git, order, candidate.snapshot, start)
    if state.agent_end:  # kept work is on its side ref already
        state.snapshot = rebased
    plan = rebase.plan_at(context.git, order, state.task, start.head)
    verified_before = state.verified.duration_seconds if state.verified else 0.0
    spent = candidate.spent_seconds + verified_before
    state.candidate = Candidate(snapshot=rebased, plan=plan, spent_seconds=spent)

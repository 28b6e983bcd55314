"""Pushes the plan, to learn whether the server accepts pushes before an agent is paid."""

from afresh.episode.context import EpisodeContext
from afresh.episode.git import push_check
from afresh.episode.state import SubtaskState, given


def run(context: EpisodeContext, state: SubtaskState) -> None:
    """Push the plan alone. Raises SubtaskStopped if the server does not accept it."""
    passed = push_check.check_push(context.git, state.episode.order, given(state.start))
    context.reporter.update(
        head=passed.start.head, plan_digest=passed.plan_digest, push_passed=True
    )
    state.start = passed.start

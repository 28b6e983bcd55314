"""Checks, before any agent starts, that verify's image has the acceptance command's program.

The check runs once per package and image.
"""

from afresh.contract.order import Order, Task
from afresh.contract.text import one_line
from afresh.contract.words import Outcome
from afresh.episode.container.program_search import is_there
from afresh.episode.context import EpisodeContext
from afresh.episode.stages.verify import run_setup, tree_of
from afresh.episode.state import SubtaskState, given
from afresh.episode.stopped import SubtaskStopped

NAMED = 60


def run(context: EpisodeContext, state: SubtaskState) -> None:
    """Wait for the search. Raises SubtaskStopped if the program is missing, even after setup."""
    if not given(state.search).is_found() and not _is_there_after_setup(context, state):
        raise missing(context.order, state.task)
    episode = state.episode
    episode.programs = tuple({*episode.programs, state.task.verify.check})
    context.reporter.update(programs=episode.programs)


def _is_there_after_setup(context: EpisodeContext, state: SubtaskState) -> bool:
    if context.order.setup is None:
        return False
    tree_of(context, state.task, given(state.start).head)
    run_setup(context)
    # A command runs once after each `clear`: the search here, and the verification later.
    found = context.verify_control.clear() and is_there(context, state.task)
    return context.verify_control.clear() and found


def missing(order: Order, task: Task) -> SubtaskStopped:
    """Return the end of an episode whose image lacks the program of the acceptance command."""
    name = one_line(task.verify.command[0])[:NAMED]
    setup = "or have spec.setup install it, " if order.setup is None else ""
    return SubtaskStopped(
        Outcome.CONFIG,
        f'Correct the command of verify, {setup}or use an image that has it: "{name}" is not '
        f"on the PATH of {one_line(task.verify.image)}.",
    )

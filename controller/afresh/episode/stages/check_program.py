"""Finds out whether verify's image has the program of an acceptance command, before any agent.

Owns how a program is looked for. Only bare names are: a subtask may make what a path names. It
goes on while the worktree is laid out, and is asked for once per package and image.
"""

import threading

from afresh.contract.order import Order, Step, Task
from afresh.contract.text import one_line
from afresh.contract.words import Outcome
from afresh.episode.container.commands import meet, run_step
from afresh.episode.context import FIND, EpisodeContext
from afresh.episode.stages.verify import run_setup, tree_of
from afresh.episode.state import SubtaskState, given
from afresh.episode.stopped import SubtaskStopped

LIMIT_SECONDS = 30
NAMED = 60
# What the shell says of a program that it does not find.
MISSING = (1, 127)
# A PATH that leads into the checkout may lead to what a subtask makes.
LOOK = 'case ":$PATH:" in *:"$PWD"*|*:[!/]*) exit 0;; esac; command -v "$1" >/dev/null 2>&1'


class ProgramSearch:
    """A search that goes on in verify's container."""

    def __init__(self, context: EpisodeContext, task: Task) -> None:
        """Begin to search."""
        self._context, self._task = context, task
        self._is_found = False
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=self._search, name="find", daemon=True)
        self._thread.start()

    def is_found(self) -> bool:
        """Wait for the end of the search. Raises what it has raised."""
        self._thread.join()
        if self._problem:
            raise self._problem
        return self._is_found

    def _search(self) -> None:
        try:
            meet(self._context.verify_control)
            self._is_found = _is_there(self._context, self._task)
        except Exception as problem:  # raised again by `is_found`
            self._problem = problem


def run(context: EpisodeContext, state: SubtaskState) -> None:
    """Wait for the search. Raises SubtaskStopped if the program is not there after setup."""
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
    # What looks next is run anew, and so is what verifies later.
    found = context.verify_control.clear() and _is_there(context, state.task)
    return context.verify_control.clear() and found


def missing(order: Order, task: Task) -> SubtaskStopped:
    """Return how the episode ends without the program of the acceptance command."""
    name = one_line(task.verify.command[0])[:NAMED]
    setup = "or have spec.setup install it, " if order.setup is None else ""
    return SubtaskStopped(
        Outcome.CONFIG,
        f'Correct the command of verify, {setup}or use an image that has it: "{name}" is not '
        f"on the PATH of {one_line(task.verify.image)}.",
    )


def _is_there(context: EpisodeContext, task: Task) -> bool:
    step = Step(
        command=("sh", "-c", LOOK, "sh", task.verify.command[0]), timeout_seconds=LIMIT_SECONDS
    )
    end = run_step(context.verify_control, FIND, step, context.paths.verify_sees, context.log)
    return end.exit_code not in MISSING

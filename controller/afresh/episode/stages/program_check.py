"""Finds out whether verify's image has the program of an acceptance command, before any agent.

Owns how a program is looked for. Only bare names are: a subtask may make what a path names. It
goes on beside what the agent's container needs, and is asked for once per package and image.
"""

import threading

from afresh.contract.order import Order, Step, Task
from afresh.contract.text import one_line
from afresh.contract.words import Outcome
from afresh.episode.container.commands import meet, run_step
from afresh.episode.context import FIND, EpisodeContext
from afresh.episode.git.fetching import Start
from afresh.episode.stages.verify import run_setup, tree_of
from afresh.episode.state import EpisodeState
from afresh.episode.stopped import SubtaskStopped

LIMIT_SECONDS = 30
NAMED = 60
# What the shell says of a program that it does not find.
MISSING = (1, 127)
# A PATH that leads into the checkout may lead to what a subtask makes.
LOOK = 'case ":$PATH:" in *:"$PWD"*|*:[!/]*) exit 0;; esac; command -v "$1" >/dev/null 2>&1'


class ProgramCheck:
    """A look that goes on in verify's container. Costs nothing where none is asked for."""

    def __init__(self, context: EpisodeContext, task: Task) -> None:
        """Begin to look."""
        self._work, self._task = context, task
        self._is_found = False
        self._problem: Exception | None = None
        self._thread: threading.Thread | None = None
        if task.verify.check:
            self._thread = threading.Thread(target=self._look, name="find", daemon=True)
            self._thread.start()

    def finish(self, state: EpisodeState, start: Start) -> None:
        """Wait for the end of the look. Raises Ended if the program is not there after setup."""
        if self._thread is None:
            return
        self._thread.join()
        if self._problem:
            raise self._problem
        if not self._is_found and not self._is_there_after_setup(start):
            raise missing(self._work.order, self._task)
        state.programs = tuple({*state.programs, self._task.verify.check})
        self._work.reporter.update(programs=state.programs)

    def _look(self) -> None:
        try:
            meet(self._work.verify_control)
            self._is_found = _is_there(self._work, self._task)
        except Exception as problem:  # raised again by `finish`
            self._problem = problem

    def _is_there_after_setup(self, start: Start) -> bool:
        context, task = self._work, self._task
        if context.order.setup is None:
            return False
        tree_of(context, task, start.head)
        run_setup(context)
        # What looks next is run anew, and so is what verifies later.
        found = context.verify_control.clear() and _is_there(context, task)
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

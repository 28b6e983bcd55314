"""Looks for the program of an acceptance command in verify's container, while other work goes on.

Owns how a program is looked for. Only bare names are: a subtask may make what a path names.
"""

import threading

from afresh.contract.order import Step, Task
from afresh.episode.container.commands import meet, run_step
from afresh.episode.context import FIND, EpisodeContext

LIMIT_SECONDS = 30
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
            self._is_found = is_there(self._context, self._task)
        except Exception as problem:  # raised again by `is_found`
            self._problem = problem


def is_there(context: EpisodeContext, task: Task) -> bool:
    """Whether verify's container has the program of the acceptance command."""
    step = Step(
        command=("sh", "-c", LOOK, "sh", task.verify.command[0]), timeout_seconds=LIMIT_SECONDS
    )
    end = run_step(context.verify_control, FIND, step, context.paths.verify_sees, context.log)
    return end.exit_code not in MISSING

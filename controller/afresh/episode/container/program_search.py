"""Looks for the program of an acceptance command in verify's container, during other work.

Owns how a program is looked for. Only bare names are looked for: a subtask may itself create the
file that a path names.
"""

import threading

from afresh.contract.order import Step, Task
from afresh.episode.container.commands import await_container, run_step
from afresh.episode.context import FIND, EpisodeContext

LIMIT_SECONDS = 30
# The shell's exit codes for a program that it does not find.
MISSING = (1, 127)
# A PATH with a folder of the checkout may lead to a program that a subtask creates.
LOOK = 'case ":$PATH:" in *:"$PWD"*|*:[!/]*) exit 0;; esac; command -v "$1" >/dev/null 2>&1'


class ProgramSearch:
    """A search in verify's container, in a thread of its own."""

    def __init__(self, context: EpisodeContext, task: Task) -> None:
        """Start the search."""
        self._context, self._task = context, task
        self._is_found = False
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=self._search, name="find", daemon=True)
        self._thread.start()

    def is_found(self) -> bool:
        """Wait for the end of the search and return its result. Raises the error of the search."""
        self._thread.join()
        if self._problem:
            raise self._problem
        return self._is_found

    def _search(self) -> None:
        try:
            await_container(self._context.verify_control)
            self._is_found = is_there(self._context, self._task)
        except Exception as problem:  # raised again by `is_found`
            self._problem = problem


def is_there(context: EpisodeContext, task: Task) -> bool:
    """Whether verify's container has the program of the acceptance command."""
    step = Step(
        command=("sh", "-c", LOOK, "sh", task.verify.command[0]), timeout_seconds=LIMIT_SECONDS
    )
    end = run_step(context.verify_control, FIND, step, context.paths.verify_paths, context.log)
    return end.exit_code not in MISSING

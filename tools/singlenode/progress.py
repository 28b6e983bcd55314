"""Prints progress on standard error: one line when a step starts, and one when it ends.

A step that may take minutes also prints a line at intervals. Knows nothing about the steps.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# A program that calls several commands passes its own start time to them.
BEGAN_VARIABLE = "AFRESH_BEGAN"
_REMINDER_SECONDS = 60.0
_STARTED = float(os.environ.get(BEGAN_VARIABLE) or time.monotonic())


def environment() -> dict[str, str]:
    """The environment for a command whose times count from the same start."""
    return {**os.environ, BEGAN_VARIABLE: str(_STARTED)}


def elapsed() -> float:
    """Seconds since the start of this command, or of the program that called it."""
    return time.monotonic() - _STARTED


def say(text: str) -> None:
    """Print one line with the time."""
    # One write, so that the lines of threads do not mix.
    sys.stderr.write(f"[{elapsed():5.1f}s] {text}\n")
    sys.stderr.flush()


@contextmanager
def step(what: str) -> Iterator[None]:
    """Print `what`, and its duration when the block ends without an error."""
    began = time.monotonic()
    say(f"{what} ...")
    yield
    say(f"{what}: done in {time.monotonic() - began:.1f} s")


@contextmanager
def long_step(what: str, every_seconds: float = _REMINDER_SECONDS) -> Iterator[None]:
    """Do the same as `step`, and print at intervals that the step is still running."""
    began = time.monotonic()
    over = threading.Event()

    def remind() -> None:
        while not over.wait(every_seconds):
            say(f"{what}: still running after {time.monotonic() - began:.0f} s")

    reminder = threading.Thread(target=remind, daemon=True)
    with step(what):
        reminder.start()
        try:
            yield
        finally:
            over.set()
            reminder.join()

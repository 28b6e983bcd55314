"""Progress for people: one line when a step begins, one when it ends, on standard error.

A step that may take minutes says in between that it goes on. Knows nothing about the steps.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

# A program that calls several commands in a row passes its own beginning on.
BEGAN_VARIABLE = "AFRESH_BEGAN"
_REMINDER_SECONDS = 60.0
_STARTED = float(os.environ.get(BEGAN_VARIABLE) or time.monotonic())


def environment() -> dict[str, str]:
    """The environment for a command whose lines shall count from the same beginning."""
    return {**os.environ, BEGAN_VARIABLE: str(_STARTED)}


def elapsed() -> float:
    """Seconds since the command, or the program that called it, began."""
    return time.monotonic() - _STARTED


def say(text: str) -> None:
    """Print one line with the time."""
    # One write, so that the lines of threads do not mix.
    sys.stderr.write(f"[{elapsed():5.1f}s] {text}\n")
    sys.stderr.flush()


@contextmanager
def step(what: str) -> Iterator[None]:
    """Announce `what`, and its duration when the block ends without an error."""
    began = time.monotonic()
    say(f"{what} ...")
    yield
    say(f"{what}: done in {time.monotonic() - began:.1f} s")


@contextmanager
def long_step(what: str, every_seconds: float = _REMINDER_SECONDS) -> Iterator[None]:
    """Do as `step`, and say at every so many seconds that it still goes on."""
    began = time.monotonic()
    over = threading.Event()

    def remind() -> None:
        while not over.wait(every_seconds):
            say(f"{what}: still going on after {time.monotonic() - began:.0f} s")

    reminder = threading.Thread(target=remind, daemon=True)
    with step(what):
        reminder.start()
        try:
            yield
        finally:
            over.set()
            reminder.join()

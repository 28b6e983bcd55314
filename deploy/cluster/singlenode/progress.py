"""Progress for people: one line when a step begins, one when it ends, on standard error.

Knows nothing about the steps.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

# A program that calls several commands in a row passes its own beginning on.
BEGAN_VARIABLE = "AFRESH_BEGAN"
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

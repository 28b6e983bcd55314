"""Progress for people: one line when a step begins, one when it ends, on standard error.

Knows nothing about the steps.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_STARTED = time.monotonic()


def elapsed() -> float:
    """Seconds since the command began."""
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

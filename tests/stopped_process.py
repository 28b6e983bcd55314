"""Stops a process for a while. It goes on whatever the test comes to: no test leaves it stopped."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def stopped(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Send SIGSTOP, and SIGCONT at the end of the block, also when the block fails."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def state_of(process: int) -> str:
    """Return the letter that the kernel gives for the state of a process: T if it is stopped."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]

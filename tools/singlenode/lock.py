"""Mutual exclusion between commands, with a lock file that is removed afterwards.

Knows nothing about what is locked.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.singlenode.errors import ClusterError

_POLL_SECONDS = 0.1


@contextmanager
def exclusive(path: Path, *, wait_seconds: float, busy: str) -> Iterator[None]:
    """Hold the lock at `path`; raise ClusterError(`busy`) if it is still taken after the wait.

    The kernel releases the lock when its holder ends, so a crash never blocks the next command.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + wait_seconds
    while (descriptor := _try_lock(path)) is None:
        if time.monotonic() > deadline:
            raise ClusterError(busy)
        time.sleep(_POLL_SECONDS)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _try_lock(path: Path) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    if _is_at(descriptor, path):
        return descriptor
    # The last holder removed the file between our open and our lock.
    os.close(descriptor)
    return None


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    ours = os.fstat(descriptor)
    return (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)

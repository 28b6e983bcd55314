"""Stops an agent that writes more than it may, before the kubelet does.

The kubelet looks every ten seconds and more, and then takes the whole pod away, with the runner in
it. Owns how often is looked, and what counts: the worktree and HOME, as far as they can be read.
"""

import contextlib
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from afresh.episode.context import EpisodeContext

# A bit less than what the kubelet acts on.
SHARE = 0.9
LOOK_SECONDS = 1.0
# Looking takes at most a twentieth of the time.
PAUSES_PER_LOOK = 20
DU_SECONDS = 30


class DiskWatch:
    """What one run of the agent has written; `is_full` once that was too much."""

    def __init__(self, context: EpisodeContext, limit: int) -> None:
        self._work = context
        self._limit = int(limit * SHARE)
        self._over = threading.Event()
        self._acting = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="disk", daemon=True)
        self.is_full = False

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more. What is being looked at is not waited for; a container being stopped is.

        Else an agent that ends well at that moment could be followed by another in its container.
        """
        with self._acting:
            self._over.set()

    def _run(self) -> None:
        pause = LOOK_SECONDS
        while not self._over.wait(pause):
            began = time.monotonic()
            used = used_bytes(self._work.paths.worktree, self._work.paths.home)
            if used > self._limit:
                self._act()
                return
            pause = max(LOOK_SECONDS, PAUSES_PER_LOOK * (time.monotonic() - began))

    def _act(self) -> None:
        with self._acting:
            if not self._over.is_set():
                self.is_full = True
                self._work.agent_control.stop()


@contextlib.contextmanager
def watching_disk(context: EpisodeContext) -> Iterator[DiskWatch | None]:
    """Watch until the block ends, where the Order names a limit."""
    limit = context.order.agent.disk_bytes
    if limit is None:
        yield None
        return
    watch = DiskWatch(context, limit)
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()


def used_bytes(*folders: Path) -> int:
    """Return how many bytes the folders take on the disk; 0 when that cannot be found out."""
    command = ("du", "--summarize", "--block-size=1", "--total", "--", *map(str, folders))
    try:
        # It exits with 1 when files vanish while it looks; what it has seen still counts.
        told = subprocess.run(  # noqa: S603  # a fixed program, and paths of our own
            command, capture_output=True, text=True, timeout=DU_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    total = told.stdout.splitlines()[-1:] or ["0\ttotal"]
    return int(total[0].split("\t")[0])

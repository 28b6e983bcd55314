"""Watches the event loop from a thread, and logs where it is blocked.

A blocked loop does not answer probes, so the kubelet kills the process. The log then shows the
cause.
"""

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from afresh.logs import get_logger

log = get_logger()
BEAT_SECONDS = 0.5
HELD_UP_SECONDS = 10.0


@asynccontextmanager
async def heartbeat(held_up_seconds: float = HELD_UP_SECONDS) -> AsyncIterator[None]:
    """Watch the running event loop while the block runs."""
    watch = _Watch(threading.get_ident(), held_up_seconds)
    thread = threading.Thread(target=watch.run, name="heartbeat", daemon=True)
    thread.start()
    beating = asyncio.create_task(watch.beat())
    try:
        yield
    finally:
        beating.cancel()
        watch.over.set()


class _Watch:
    """The last beat of one event loop, written by the loop and read by the thread."""

    def __init__(self, loop_thread: int, held_up_seconds: float) -> None:
        self.over = threading.Event()
        self._loop_thread = loop_thread
        self._held_up_seconds = held_up_seconds
        self._beaten_at = time.monotonic()

    async def beat(self) -> None:
        """Beat until cancelled."""
        while True:
            self._beaten_at = time.monotonic()
            await asyncio.sleep(BEAT_SECONDS)

    def run(self) -> None:
        """Log each blockage once."""
        told = 0.0
        while not self.over.wait(BEAT_SECONDS):
            beaten_at = self._beaten_at
            silent = time.monotonic() - beaten_at
            if silent > self._held_up_seconds and beaten_at != told:
                told = beaten_at
                frame = sys._current_frames().get(self._loop_thread)  # noqa: SLF001  # no other way
                at = "".join(traceback.format_stack(frame)) if frame else ""
                log.error("event_loop_held_up", seconds=round(silent, 1), at=at)

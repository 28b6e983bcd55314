"""A queue of keys: one worker at a time per key, and a key is queued at most once.

A key that is added while a worker has it is returned again afterwards, so that no change is lost.
"""

import asyncio
import heapq
from datetime import timedelta
from typing import NamedTuple

from afresh.metrics import registry
from afresh.metrics.queue import QueueMeter

FIRST_DELAY = 0.2
LAST_DELAY = 60.0
DOUBLINGS = 10
"""Failures beyond this number do not lengthen the pause."""


class Key(NamedTuple):
    """One package."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class KeyQueue:
    """Keys that wait to be reconciled. It must be used within one event loop."""

    def __init__(self, controller: str = registry.CONTROLLER) -> None:
        self._waiting: dict[Key, None] = {}
        self._working: dict[Key, float] = {}
        self._again: set[Key] = set()
        self._due: dict[Key, float] = {}
        self._heap: list[tuple[float, Key]] = []
        self._failures: dict[Key, int] = {}
        self._changed = asyncio.Event()
        self._meter = QueueMeter(controller)

    def add(self, key: Key) -> None:
        """Queue `key` for the next free worker."""
        self._due.pop(key, None)
        self._meter.added(key)
        if key in self._working:
            self._again.add(key)
            return
        self._waiting[key] = None
        self._changed.set()

    def add_after(self, key: Key, delay: timedelta) -> None:
        """Queue `key` after `delay`, unless it is queued or due earlier."""
        due = asyncio.get_running_loop().time() + delay.total_seconds()
        if due >= self._due.get(key, float("inf")):
            return
        self._due[key] = due
        heapq.heappush(self._heap, (due, key))
        self._changed.set()

    def retry(self, key: Key) -> int:
        """Queue `key` again after a pause that grows with its failures in a row.

        Returns the number of failures in a row.
        """
        self._meter.retried()
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = min(FIRST_DELAY * 2 ** min(failures, DOUBLINGS), LAST_DELAY)
        self.add_after(key, timedelta(seconds=delay))
        return failures + 1

    def forget(self, key: Key) -> None:
        """Reset the failures of `key`."""
        self._failures.pop(key, None)

    async def get(self) -> Key:
        """Return the next key; call `done` when it has been worked on."""
        while True:
            self._collect_due()
            if self._waiting:
                key = next(iter(self._waiting))
                del self._waiting[key]
                self._working[key] = asyncio.get_running_loop().time()
                self._meter.begun(key)
                return key
            self._changed.clear()
            await self._until_changed()

    def done(self, key: Key) -> None:
        """End the work on `key`."""
        self._working.pop(key, None)
        self._meter.done(key)
        if key in self._again:
            self._again.discard(key)
            self._waiting[key] = None
            self._changed.set()

    def longest(self) -> tuple[Key, float] | None:
        """Return the key that a worker has had the longest, and for how many seconds, or None."""
        if not self._working:
            return None
        key = min(self._working, key=self._working.__getitem__)
        return key, asyncio.get_running_loop().time() - self._working[key]

    def _collect_due(self) -> None:
        now = asyncio.get_running_loop().time()
        while self._heap and self._heap[0][0] <= now:
            due, key = heapq.heappop(self._heap)
            if self._due.get(key) == due:
                self.add(key)

    async def _until_changed(self) -> None:
        if not self._heap:
            await self._changed.wait()
            return
        delay = self._heap[0][0] - asyncio.get_running_loop().time()
        try:
            await asyncio.wait_for(self._changed.wait(), timeout=max(delay, 0))
        except TimeoutError:
            return

"""The queue's metrics, with the meanings of client-go's. This module does not interpret keys."""

import time
from collections.abc import Hashable

from afresh.metrics import registry


class QueueMeter:
    """Measures one queue. It must be used within one event loop."""

    def __init__(self, controller: str) -> None:
        names = (controller, controller)
        self._depth = registry.QUEUE_DEPTH.labels(*names)
        self._adds = registry.QUEUE_ADDS.labels(*names)
        self._waits = registry.QUEUE_SECONDS.labels(*names)
        self._works = registry.WORK_SECONDS.labels(*names)
        self._retries = registry.QUEUE_RETRIES.labels(*names)
        self._added: dict[Hashable, float] = {}
        self._begun: dict[Hashable, float] = {}
        registry.UNFINISHED_WORK.labels(*names).set_function(self._unfinished)
        registry.LONGEST_RUNNING.labels(*names).set_function(self._longest)

    def added(self, key: Hashable) -> None:
        """Record that a key was added; a key that already waits is not counted again."""
        if key in self._added:
            return
        self._added[key] = time.monotonic()
        self._adds.inc()
        self._depth.set(len(self._added))

    def begun(self, key: Hashable) -> None:
        """Record that a worker has taken the key."""
        now = time.monotonic()
        self._waits.observe(now - self._added.pop(key, now))
        self._begun[key] = now
        self._depth.set(len(self._added))

    def done(self, key: Hashable) -> None:
        """Record that the worker is done with the key."""
        now = time.monotonic()
        self._works.observe(now - self._begun.pop(key, now))

    def retried(self) -> None:
        """Record that a key is delayed because its step failed."""
        self._retries.inc()

    def _unfinished(self) -> float:
        now = time.monotonic()
        return sum(now - begun for begun in self._begun.values())

    def _longest(self) -> float:
        now = time.monotonic()
        return max((now - begun for begun in self._begun.values()), default=0.0)

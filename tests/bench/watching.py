"""Watches of one namespace, as seen by the measuring process: every event with its time."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from kubernetes.aio import client, watch


@dataclass
class Watching:
    """The Jobs' and pods' newest state, and when which of it was first seen."""

    objects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    first_seen: dict[tuple[str, str], float] = field(default_factory=dict)
    scheduled: dict[str, float] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, kind: str, body: dict[str, Any]) -> None:
        """Note one event."""
        now = time.time()
        name = body["metadata"]["name"]
        self.objects[kind, name] = body
        self.first_seen.setdefault((kind, name), now)
        for condition in body.get("status", {}).get("conditions", []):
            if condition["type"] == "PodScheduled" and condition["status"] == "True":
                job = body["metadata"]["labels"]["batch.kubernetes.io/job-name"]
                self.scheduled.setdefault(job, now)
        self._changed.set()

    async def next_event(self, seconds: float) -> None:
        """Wait for the next event. Raises TimeoutError."""
        self._changed.clear()
        await asyncio.wait_for(self._changed.wait(), seconds)

    def pod_of(self, job: str) -> dict[str, Any] | None:
        """Return the pod of a Job, if it was seen."""
        label = "batch.kubernetes.io/job-name"
        return next(
            (
                body
                for (kind, _), body in self.objects.items()
                if kind == "pod" and body["metadata"]["labels"].get(label) == job
            ),
            None,
        )


@asynccontextmanager
async def watching(api: client.ApiClient, namespace: str) -> AsyncIterator[Watching]:
    """Watch the Jobs and pods of a namespace."""
    seen = Watching()
    sources = {
        "job": client.BatchV1Api(api).list_namespaced_job,
        "pod": client.CoreV1Api(api).list_namespaced_pod,
    }
    tasks = [asyncio.create_task(_follow(seen, *item, namespace)) for item in sources.items()]
    try:
        yield seen
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _follow(seen: Watching, kind: str, source: Any, namespace: str) -> None:
    async with watch.Watch().stream(source, namespace, timeout_seconds=1800) as events:
        async for event in events:
            seen.take(kind, event["raw_object"])

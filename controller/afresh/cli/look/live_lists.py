"""Lists of objects that watches keep current while a command shows them.

Owns listing again after a watch has ended. Knows nothing of what the objects mean.
"""

import asyncio
import contextlib
import json
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from afresh.cli.look.collection import Collection
from afresh.kube.client import Kube
from afresh.kube.errors import UnavailableError
from afresh.kube.resources import Manifest

# The server ends a watch after this; a connection that died unseen is noticed no later.
WATCH_SECONDS = 240
PAUSE_SECONDS = 1.0


class Live:
    """Follows collections for as long as it is entered; from the start each has been listed.

    Entering raises KubeError where one cannot be listed.
    """

    def __init__(self, kube: Kube, collections: Sequence[Collection]) -> None:
        self._kube = kube
        self._objects: dict[Collection, dict[tuple[str, str], Manifest]] = {}
        self._changed = asyncio.Event()
        self._collections = collections
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        versions = [await self._list(collection) for collection in self._collections]
        self._tasks = [
            asyncio.create_task(self._follow(collection, version))
            for collection, version in zip(self._collections, versions, strict=True)
        ]
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def objects(self, collection: Collection) -> list[Manifest]:
        """Return the objects of one collection, in the order of namespace and name."""
        known = self._objects[collection]
        return [known[key] for key in sorted(known)]

    async def changed(self, seconds: float | None = None) -> bool:
        """Return True once something has changed since the last call, False after `seconds`.

        Raises KubeError once a collection cannot be followed any more.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        self._changed.clear()
        for task in self._tasks:
            if task.done():
                task.result()
        return True

    async def _follow(self, collection: Collection, version: int) -> None:
        try:
            while True:
                with contextlib.suppress(UnavailableError):
                    await self._watch(collection, version)
                await asyncio.sleep(PAUSE_SECONDS)
                with contextlib.suppress(UnavailableError):
                    version = await self._list(collection)
        finally:
            self._changed.set()

    async def _list(self, collection: Collection) -> int:
        found: dict[tuple[str, str], Manifest] = {}
        versions = []
        async for page, version in self._kube.pages(
            collection.resource, collection.namespace, **collection.selectors
        ):
            versions.append(version)
            found |= {_key(item): item for item in page}
        self._objects[collection] = found
        self._changed.set()
        return versions[-1]

    async def _watch(self, collection: Collection, version: int) -> None:
        """Apply changes until the watch ends; the next list has what it may have missed."""
        query = {
            **collection.selectors,
            "watch": "1",
            "resourceVersion": str(version),
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        path = collection.resource.path(collection.namespace)
        async with contextlib.aclosing(self._kube.lines(path, query)) as lines:
            async for line in lines:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                self._take(collection, event["type"], event["object"])

    def _take(self, collection: Collection, change: str, item: Manifest) -> None:
        known = self._objects[collection]
        if change == "DELETED":
            known.pop(_key(item), None)
        else:
            known[_key(item)] = item
        self._changed.set()


def _key(item: Manifest) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]

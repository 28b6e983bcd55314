"""Lists everything once before the loop starts, and again at intervals.

The first list completes the cache, so that an object not in it does not exist. The later ones find
what a watch has missed.
"""

import asyncio
from dataclasses import dataclass

from afresh.kube.cache import SELECTORS, WATCHED, Cache, name_of
from afresh.kube.client import Kube
from afresh.kube.errors import KubeError, UnavailableError
from afresh.kube.handlers import EventRouter
from afresh.kube.resources import AGENT_CLASSES, Resource
from afresh.logs import get_logger

log = get_logger()
FIRST_AGAIN_SECONDS = 15
AGAIN_SECONDS = 300
OWED_SECONDS = 60
RETRY_SECONDS = 2


@dataclass
class Resync:
    """Lists what the operator watches, in these namespaces; none: in all."""

    kube: Kube
    cache: Cache
    router: EventRouter
    namespaces: tuple[str, ...]

    async def fill(self) -> None:
        """List until everything has been listed once."""
        while True:
            try:
                for kind in WATCHED:
                    await self._see_all(kind, owes=False)
            except KubeError as error:
                log.warning("not_listed", error=str(error))
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return

    async def run(self) -> None:
        """List again for as long as the operator runs."""
        await asyncio.sleep(FIRST_AGAIN_SECONDS)
        while True:
            try:
                await self.sweep()
            except Exception:  # top level of the loop: one error must not end resyncing for good
                log.exception("not_resynced")
            await self._until_next()

    async def _until_next(self) -> None:
        """Wait; shorter while a watch owes something: another list shows whether it is stuck."""
        for _ in range(AGAIN_SECONDS // OWED_SECONDS):
            await asyncio.sleep(OWED_SECONDS)
            if self.router.watch_lag.owes():
                return

    async def sweep(self) -> None:
        """List everything again, and find what the watch has not reported. Raises KubeError."""
        for kind in WATCHED:
            try:
                uids, version = await self._see_all(kind, owes=True)
            except UnavailableError:
                self.router.watch_lag.excuse()
                raise
            self.router.watch_lag.retain(kind, uids)
            for item in self.cache.retain(kind, uids, version):
                self.router.see(kind, "DELETED", item)

    async def _see_all(self, kind: Resource, *, owes: bool) -> tuple[set[str], int]:
        """Pass every object to the router; return the UIDs, and the oldest version of a list.

        A page at a time, so that thousands of Jobs are never in memory with their Orders.
        """
        selectors = {"labelSelector": SELECTORS[kind]} if kind in SELECTORS else {}
        scopes = self.namespaces if self.namespaces and kind is not AGENT_CLASSES else (None,)
        uids: set[str] = set()
        versions: list[int] = []
        for namespace in scopes:
            async for page, version in self.kube.pages(kind, namespace, **selectors):
                versions.append(version)
                for item in page:
                    if owes:
                        self.router.watch_lag.listed(
                            kind, item, self.cache.get(kind, *name_of(item))
                        )
                    self.router.see(kind, None, item)
                    uids.add(item["metadata"]["uid"])
        return uids, min(versions)

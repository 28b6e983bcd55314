"""Lists everything once before the loop starts, and again at intervals.

The first list completes the cache, so that an object not in it does not exist. The later ones find
what a watch has missed. Owns which of the configured namespaces are served: those in which
everything can be listed. The others are tried again and again.
"""

import asyncio
from dataclasses import dataclass

from afresh.kube.cache import SELECTORS, WATCHED, Cache, name_of
from afresh.kube.client import Kube
from afresh.kube.errors import ForbiddenError, KubeError, UnavailableError
from afresh.kube.handlers import EventRouter
from afresh.kube.resources import AGENT_CLASSES, Resource
from afresh.logs import get_logger

log = get_logger()
FIRST_AGAIN_SECONDS = 15
AGAIN_SECONDS = 300
OWED_SECONDS = 60
UNLISTED_SECONDS = 10
RETRY_SECONDS = 2
REMEDY = (
    "Create the namespace if it is not there, and install the chart's roles again; or take it out "
    "of the chart's namespaces."
)
IN_NAMESPACES = tuple(kind for kind in WATCHED if kind is not AGENT_CLASSES)


@dataclass
class Resync:
    """Lists what the operator watches, in these namespaces; none: in all."""

    kube: Kube
    cache: Cache
    router: EventRouter
    namespaces: tuple[str, ...]

    async def fill(self) -> None:
        """List until everything has been listed once, but what is in no namespace to be served."""
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
        for passed in range(UNLISTED_SECONDS, AGAIN_SECONDS + 1, UNLISTED_SECONDS):
            await asyncio.sleep(UNLISTED_SECONDS)
            try:
                await self.take_up()
            except KubeError as error:
                log.warning("not_listed", error=str(error))
            if passed % OWED_SECONDS == 0 and self.router.watch_lag.owes():
                return

    async def take_up(self) -> None:
        """Serve the namespaces in which everything can be listed by now. Raises KubeError."""
        for namespace in sorted(self.cache.unlisted):
            self.cache.forget(namespace)
            try:
                for kind in IN_NAMESPACES:
                    await self._see(kind, namespace, owes=False)
            except ForbiddenError:
                continue
            self.cache.unlisted.discard(namespace)
            self.router.wake_all(namespace)
            log.info("namespace_served", namespace=namespace)

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

        A namespace in which the kind may not be listed is not served from then on.
        """
        if kind is AGENT_CLASSES or not self.namespaces:
            return await self._see(kind, None, owes=owes)
        uids: set[str] = set()
        versions = [0]
        for namespace in self.namespaces:
            if namespace in self.cache.unlisted:
                continue
            try:
                found, version = await self._see(kind, namespace, owes=owes)
            except ForbiddenError as error:
                self._leave_out(namespace, error)
                continue
            uids |= found
            versions.append(version)
        return uids, min(versions[1:] or versions)

    async def _see(
        self, kind: Resource, namespace: str | None, *, owes: bool
    ) -> tuple[set[str], int]:
        """Do so with one list. A page at a time, so that thousands of Jobs are never in memory."""
        selectors = {"labelSelector": SELECTORS[kind]} if kind in SELECTORS else {}
        uids: set[str] = set()
        versions: list[int] = []
        async for page, version in self.kube.pages(kind, namespace, **selectors):
            versions.append(version)
            for item in page:
                if owes:
                    known = self.cache.get(kind, *name_of(item))
                    self.router.watch_lag.listed(kind, item, known)
                self.router.see(kind, None, item)
                uids.add(item["metadata"]["uid"])
        return uids, min(versions)

    def _leave_out(self, namespace: str, error: ForbiddenError) -> None:
        """Decide nothing there; Jobs that nobody can see must not take the places of others."""
        self.cache.unlisted.add(namespace)
        self.cache.forget(namespace)
        log.warning("namespace_not_served", namespace=namespace, remedy=REMEDY, error=str(error))

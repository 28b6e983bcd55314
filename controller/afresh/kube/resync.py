"""Lists everything once before the loop starts, and now and then again.

The first list makes the cache whole, so that absence means absence. The later ones find what a
watch has missed.
"""

import asyncio

from afresh.kube.cache import LABELLED, WATCHED, Cache
from afresh.kube.client import AGENT_CLASSES, Kube, Resource
from afresh.kube.errors import KubeError
from afresh.kube.handlers import OURS, Waker
from afresh.logs import get_logger

log = get_logger()
FIRST_AGAIN_SECONDS = 15
AGAIN_SECONDS = 300
RETRY_SECONDS = 2


async def fill(kube: Kube, waker: Waker, namespaces: tuple[str, ...]) -> None:
    """List until everything has been listed once."""
    while True:
        try:
            await _list_all(kube, waker, None, namespaces)
        except KubeError as error:
            log.warning("not_listed", error=str(error))
            await asyncio.sleep(RETRY_SECONDS)
        else:
            return


async def resync(kube: Kube, waker: Waker, cache: Cache, namespaces: tuple[str, ...]) -> None:
    """List again for as long as the operator runs."""
    pause = FIRST_AGAIN_SECONDS
    while True:
        await asyncio.sleep(pause)
        pause = AGAIN_SECONDS
        try:
            await _list_all(kube, waker, cache, namespaces)
        except Exception:  # the loop's top: what is odd today must not end resyncing for good
            log.exception("not_resynced")


async def _list_all(
    kube: Kube, waker: Waker, cache: Cache | None, namespaces: tuple[str, ...]
) -> None:
    """Take in a page at a time, so that thousands of Jobs are never in memory with their Orders."""
    for kind in WATCHED:
        uids, version = await _see_all(kube, waker, kind, namespaces)
        for item in cache.retain(kind, uids, version) if cache else ():
            waker.see(kind, "DELETED", item)


async def _see_all(
    kube: Kube, waker: Waker, kind: Resource, namespaces: tuple[str, ...]
) -> tuple[set[str], int]:
    """Show the waker everything there is; return the UIDs, and the oldest version of a list."""
    selectors = {"labelSelector": OURS} if kind in LABELLED else {}
    scopes = namespaces if namespaces and kind is not AGENT_CLASSES else (None,)
    uids: set[str] = set()
    versions: list[int] = []
    for namespace in scopes:
        async for page, version in kube.pages(kind, namespace, **selectors):
            versions.append(version)
            for item in page:
                waker.see(kind, None, item)
                uids.add(item["metadata"]["uid"])
    return uids, min(versions)

"""Lists everything once before the loop starts, and now and then again.

The first list makes the cache whole, so that absence means absence. The later ones find what a
watch has missed.
"""

import asyncio

from afresh.kube.cache import WATCHED, Cache
from afresh.kube.client import AGENT_CLASSES, JOBS, PODS, Kube, Resource
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
    for kind in WATCHED:
        listed, version = await _list(kube, kind, namespaces)
        for item in listed:
            waker.see(kind, None, item)
        for item in cache.retain(kind, listed, version) if cache else ():
            waker.see(kind, "DELETED", item)


async def _list(
    kube: Kube, kind: Resource, namespaces: tuple[str, ...]
) -> tuple[list[dict[str, object]], int]:
    selectors = {"labelSelector": OURS} if kind in (JOBS, PODS) else {}
    scopes = namespaces if namespaces and kind is not AGENT_CLASSES else (None,)
    items: list[dict[str, object]] = []
    versions = []
    for namespace in scopes:
        listed, version = await kube.list_version(kind, namespace, **selectors)
        items += listed
        versions.append(version)
    return items, min(versions)

"""The kopf shell: list and watch, and nothing else. The only file that knows kopf.

Every handler puts the object into the cache and a key into the queue. It awaits nothing and makes
no decisions. kopf ignores errors of `on.event` handlers, so the handlers must not fail.
"""

import asyncio
import itertools
import logging
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import kopf

from afresh import clock
from afresh.contract.pod_layout import LABEL_AGENT_CLASS, LABEL_MANAGED_BY, MANAGED_BY
from afresh.core.reasons import Reason
from afresh.kube.cache import SELECTORS, WATCHED, Cache, package_of
from afresh.kube.class_loop import class_key
from afresh.kube.queue import Key, KeyQueue
from afresh.kube.resources import (
    AGENT_CLASSES,
    JOBS,
    NETWORK_POLICIES,
    PODS,
    WORK_PACKAGES,
    Manifest,
    Resource,
)
from afresh.kube.shared_limits import next_in_line, waiting_to_start
from afresh.kube.watch_lag import WatchLag

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TOKEN_READ_AGAIN = timedelta(minutes=10)
WATCH_LOG = logging.getLogger("kopf._cogs.clients.watching")
"""Where kopf tells of each request of a watch that fails."""


class NullDiffBase(kopf.DiffBaseStorage):
    """Stores nothing: the loop is level-triggered, and the default writes to every object."""

    def build(self, *, body: Any, extra_fields: Any = None) -> Any:  # noqa: ARG002
        """Return an empty essence."""
        return {}

    def fetch(self, *, body: Any) -> Any:  # noqa: ARG002
        """Return None: no earlier essence is stored."""
        return None

    def store(self, *, body: Any, patch: Any, essence: Any) -> None:
        """Store nothing."""


class NullProgress(kopf.ProgressStorage):
    """Stores nothing: no handler here has progress."""

    def fetch(self, *, key: Any, body: Any) -> Any:  # noqa: ARG002
        """Return None: no progress is stored."""
        return None

    def store(self, **_: Any) -> None:
        """Store nothing."""

    def purge(self, **_: Any) -> None:
        """Remove nothing."""

    def touch(self, **_: Any) -> None:
        """Touch nothing."""

    def clear(self, *, essence: Any) -> Any:
        """Return the essence as it is."""
        return essence


def operator_settings() -> kopf.OperatorSettings:
    """Return settings with which kopf only lists and watches."""
    settings = kopf.OperatorSettings()
    settings.persistence.diffbase_storage = NullDiffBase()
    settings.persistence.progress_storage = NullProgress()
    settings.scanning.disabled = True
    settings.posting.enabled = False
    settings.peering.standalone = True
    settings.queueing.idle_timeout = 0.5
    settings.watching.server_timeout = 600
    settings.watching.connect_timeout = 10
    settings.watching.inactivity_timeout = 70
    settings.networking.request_timeout = 30
    settings.networking.error_backoffs = _Backoffs()
    settings.process.ultimate_exiting_timeout = 20
    for kind, selector in SELECTORS.items():
        settings.watching.label_selectors[kind.group, kind.version, kind.plural] = selector
    return settings


class _Backoffs:
    """An endless sequence of pauses: a long outage of the API server must not end the watch."""

    def __iter__(self) -> Iterator[float]:
        return itertools.chain((0.5, 1, 2, 4), itertools.repeat(8))


class EventRouter:
    """Routes each event into the cache, and wakes the packages that it concerns."""

    def __init__(self, cache: Cache, queue: KeyQueue, classes: KeyQueue) -> None:
        self._cache = cache
        self._queue = queue
        self._classes = classes
        self.watch_lag = WatchLag()

    def see(self, kind: Resource, change: str | None, body: Manifest) -> None:
        """Store one change and wake the packages that it concerns."""
        ran = kind is JOBS and self._cache.runs(body)
        pod = self._cache.starts.pod_of(body) if kind is PODS else None
        if change == "DELETED":
            self._cache.drop(kind, body)
        else:
            self._cache.put(kind, body)
        if kind is AGENT_CLASSES:
            self._classes.add(class_key(body))
        concerned = self._concerned(kind, body)
        came_far = kind is PODS and self._cache.starts.pod_of(body) != pod
        if came_far or (ran and not self._cache.runs(body)):
            concerned += self._starting(body)
        if ran and not self._cache.runs(body):
            concerned += self._at_gate(body)
        if (ran and not self._cache.runs(body)) or (kind is WORK_PACKAGES and change == "DELETED"):
            concerned += self._line(kind, body)
        for key in concerned:
            self._queue.add(key)

    def wake_all(self, namespace: str) -> None:
        """Wake every package of a namespace."""
        for item in self._cache.all(WORK_PACKAGES):
            if item["metadata"]["namespace"] == namespace:
                self._queue.add(Key(namespace, item["metadata"]["name"]))

    def may_be_read(self, record: logging.LogRecord) -> bool:
        """Whether a line of kopf's log tells more than that a namespace is not served."""
        said = record.getMessage()
        return not any(f"/namespaces/{name}/" in said for name in self._cache.unlisted)

    def _starting(self, body: Manifest) -> list[Key]:
        """Return the packages that wait until a Job or a pod of the class has started."""
        metadata = body["metadata"]
        class_name = metadata.get("labels", {}).get(LABEL_AGENT_CLASS, "")
        return waiting_to_start(self._cache, metadata["namespace"], class_name)

    def _at_gate(self, job: Manifest) -> list[Key]:
        """Return the packages that wait for a gate that this finished Job may have tried."""
        hurried = self._cache.waits.hurry(job["metadata"]["namespace"])
        package = package_of(job)
        return hurried + (self._cache.waits.waiting_with(package) if package else [])

    def _line(self, kind: Resource, body: Manifest) -> list[Key]:
        """Return the packages that wait for the place that this Job or package no longer needs."""
        metadata = body["metadata"]
        if kind is JOBS:
            class_name = metadata.get("labels", {}).get(LABEL_AGENT_CLASS, "")
        else:
            class_name = body["spec"]["agentClassName"]
        return next_in_line(self._cache, metadata["namespace"], class_name)

    def _concerned(self, kind: Resource, body: Manifest) -> list[Key]:
        metadata = body["metadata"]
        if kind is WORK_PACKAGES:
            return [Key(metadata["namespace"], metadata["name"]), *self._rivals(body)]
        if kind is AGENT_CLASSES:
            return [
                Key(item["metadata"]["namespace"], item["metadata"]["name"])
                for item in self._cache.all(WORK_PACKAGES)
                if item["spec"]["agentClassName"] == metadata["name"]
                # Another class may use the same Secret.
                or item.get("status", {}).get("reason") == Reason.GATE_CLOSED
            ]
        if kind is NETWORK_POLICIES:
            return [
                Key(item["metadata"]["namespace"], item["metadata"]["name"])
                for item in self._cache.all(WORK_PACKAGES)
                if item["metadata"]["namespace"] == metadata["namespace"]
            ]
        package = package_of(body)
        return [package] if package else []

    def _rivals(self, body: Manifest) -> list[Key]:
        """Return the stalled packages that may continue, as this one was changed or deleted."""
        namespace = body["metadata"]["namespace"]
        sharing = (Key(namespace, name) for name in self._cache.branches.sharing(body))
        return [key for key in sharing if self._waits_for_branch(key)]

    def _waits_for_branch(self, key: Key) -> bool:
        package = self._cache.get(WORK_PACKAGES, *key) or {}
        return bool(package.get("status", {}).get("reason") == Reason.BRANCH_IN_USE)


def registry_of(router: EventRouter) -> kopf.OperatorRegistry:
    """Return a registry with one event handler per kind, each of which calls the router."""
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    def login(**kwargs: Any) -> Any:
        return _service_account() or kopf.login_with_kubeconfig(**kwargs)

    for kind in WATCHED:
        _watch(registry, kind, router)
    return registry


def _service_account() -> kopf.ConnectionInfo | None:
    """Log in as the pod's ServiceAccount, with the API server's address instead of its name.

    The kubelet replaces the token long before it expires. It is read again every ten minutes.
    """
    host = os.environ.get("KUBERNETES_SERVICE_HOST")
    if not host:
        return None
    host = f"[{host}]" if ":" in host else host
    return kopf.ConnectionInfo(
        server=f"https://{host}:{os.environ.get('KUBERNETES_SERVICE_PORT', '443')}",
        ca_path=SERVICE_ACCOUNT / "ca.crt",
        token=(SERVICE_ACCOUNT / "token").read_text().strip(),
        expiration=clock.now() + TOKEN_READ_AGAIN,
    )


def _watch(registry: kopf.OperatorRegistry, kind: Resource, router: EventRouter) -> None:
    labels = {LABEL_MANAGED_BY: MANAGED_BY} if kind in SELECTORS else None

    @kopf.on.event(
        kind.group,
        kind.version,
        kind.plural,
        registry=registry,
        id=kind.plural,
        labels=labels,
    )
    async def see(type: str | None, body: kopf.Body, **_: Any) -> None:  # noqa: A002
        seen = dict(body)
        router.watch_lag.reported(kind, type, seen)
        router.see(kind, type, seen)


async def watch(router: EventRouter, *, namespaces: tuple[str, ...], stop: asyncio.Event) -> None:
    """List and watch until `stop` is set. Returns early only if watching has become impossible.

    A namespace that may not be watched is tried again every few seconds.
    """
    WATCH_LOG.addFilter(router.may_be_read)
    try:
        await kopf.operator(
            registry=registry_of(router),
            settings=operator_settings(),
            namespaces=list(namespaces),
            clusterwide=not namespaces,
            standalone=True,
            # kopf would look up the user's name, and the image's UID has none.
            identity="afresh",  # type: ignore[arg-type]  # a NewType that kopf does not export
            stop_flag=stop,
        )
    finally:
        WATCH_LOG.removeFilter(router.may_be_read)

"""Leader election by a Lease: one of several operators works, the others wait.

Owns the content of the Lease; the installation creates the object. Compares no clocks: a leader
counts from before its own last renewal, a standby from when it saw it, so that the leader has
stopped writing before another begins.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from afresh import clock
from afresh.kube.client import Kube
from afresh.kube.errors import ConflictError, KubeError
from afresh.kube.resources import LEASES, Manifest
from afresh.logs import get_logger

log = get_logger()
LEASE_SECONDS = 10
"""A Lease that was not renewed for this time is free."""
WRITE_SECONDS = 7
"""A leader writes for this time after it sent its last successful renewal."""
PAUSE_SECONDS = 2
TRY_SECONDS = 3
ADDRESS = "afresh.dev/report-address"


class Lease:
    """One operator's claim to the Lease `name`. `address` is the URL of its report server.

    `kube` must be a connection of its own, so that nothing else delays a renewal. `on_known` is
    called once the Lease has been read for the first time.
    """

    def __init__(
        self, kube: Kube, *, name: str, holder: str, address: str, on_known: Callable[[], None]
    ) -> None:
        self._kube = kube
        self._on_known = on_known
        self._name = name
        self._holder = holder
        self._address = address
        self._known: Manifest | None = None
        self._seen_at = 0.0
        self._writes_until = 0.0

    @property
    def leader_address(self) -> str | None:
        """The URL of the leader's report server, if it is known."""
        notes = (self._known or {}).get("metadata", {}).get("annotations", {})
        address: str | None = notes.get(ADDRESS)
        return address if self._spec.get("holderIdentity") else None

    def write_seconds(self) -> float:
        """Return for how many seconds this operator may still write; 0 or less if it may not."""
        return self._writes_until - clock.elapsed()

    async def acquire(self) -> None:
        """Wait until this operator leads."""
        while True:
            if await self._try(self._take_if_free):
                break
            await asyncio.sleep(PAUSE_SECONDS)
        log.info("leading", lease=self._name, holder=self._holder)

    async def keep(self) -> None:
        """Renew the Lease until renewals have failed for so long that another may lead."""
        while self.write_seconds() > 0 and self._is_mine():
            await asyncio.sleep(min(PAUSE_SECONDS, max(self.write_seconds(), 0)))
            if self.write_seconds() > 0:
                await self._try(self._renew)
        self._give_up()
        log.error("lease_lost", lease=self._name, holder=self._spec.get("holderIdentity"))

    async def release(self) -> None:
        """Stop writing, and release the Lease, so that another leads at once."""
        led = self.write_seconds() > 0
        self._give_up()
        if led:
            free = {"holderIdentity": "", "leaseDurationSeconds": 1}
            await self._try(lambda: self._change(lambda: free))

    async def _try(self, act: Callable[[], Awaitable[bool]]) -> bool:
        """Run one call with a timeout that leaves time for a retry; False on a temporary error."""
        try:
            async with asyncio.timeout(TRY_SECONDS):
                return await act()
        except ConflictError:
            return False  # it is read again at the next try
        except (TimeoutError, KubeError) as error:
            log.warning("lease_not_reached", lease=self._name, error=str(error) or "no answer")
            return False

    async def _take_if_free(self) -> bool:
        await self._read()
        if not self._is_free():
            return False
        now = _now()
        changes = self._spec.get("leaseTransitions", -1) + 1
        return await self._write(
            self._claim(now) | {"acquireTime": now, "leaseTransitions": changes}
        )

    async def _renew(self) -> bool:
        return await self._change(lambda: self._claim(_now()))

    async def _change(self, changes: Callable[[], dict[str, Any]]) -> bool:
        """Change the Lease; after a conflict read it again, and change it if it is still ours."""
        try:
            return await self._write(self._spec | changes())
        except ConflictError:
            await self._read()
            return self._is_mine() and await self._write(self._spec | changes())

    async def _read(self) -> None:
        found = await self._kube.get(LEASES, self._kube.namespace, self._name)
        if self._known is None:
            self._on_known()
        if self._known is None or found.get("spec", {}) != self._spec:
            self._seen_at = clock.elapsed()
        self._known = found

    async def _write(self, spec: dict[str, Any]) -> bool:
        """Write the Lease as it was read last. Raises ConflictError if it has changed since."""
        asked_at = clock.elapsed()
        metadata = (self._known or {})["metadata"]
        # Other annotations belong to whoever created the Lease.
        notes = metadata.get("annotations", {}) | {ADDRESS: self._address}
        operations = [
            {
                "op": "replace",
                "path": "/metadata/resourceVersion",
                "value": metadata["resourceVersion"],
            },
            {"op": "add", "path": "/metadata/annotations", "value": notes},
            {"op": "add", "path": "/spec", "value": spec},
        ]
        self._known = await self._kube.patch(LEASES, self._kube.namespace, self._name, operations)
        if self._is_mine():
            self._writes_until = asked_at + WRITE_SECONDS
        return True

    def _claim(self, now: str) -> dict[str, Any]:
        return {
            "holderIdentity": self._holder,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": now,
        }

    def _give_up(self) -> None:
        self._writes_until = min(self._writes_until, clock.elapsed())

    def _is_free(self) -> bool:
        lasts = self._spec.get("leaseDurationSeconds", LEASE_SECONDS)
        left = self._seen_at + lasts - clock.elapsed()
        return not self._spec.get("holderIdentity") or left <= 0

    def _is_mine(self) -> bool:
        return self._spec.get("holderIdentity") == self._holder

    @property
    def _spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = (self._known or {}).get("spec", {})
        return spec


def _now() -> str:
    return clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")

"""Leader election as an `async with` block: it waits for the Lease, renews it, and releases it.

An operator that loses the Lease stops writing before another begins, and then ends.
"""

import asyncio
import socket
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from afresh.kube.async_scopes import serving, until, while_open
from afresh.kube.client import Kube
from afresh.kube.ha.lease import WRITE_SECONDS, Lease
from afresh.kube.ha.report_proxy import LIMITS, ReportProxy
from afresh.kube.health import Health
from afresh.kube.listener import Listener
from afresh.kube.report_keys import ReportKeys
from afresh.metrics import registry
from afresh.settings import Settings


@dataclass
class Tenure:
    """One term as leader. `lost`: it ended because another operator may lead now."""

    lost: bool = False


@asynccontextmanager
async def leading(
    settings: Settings, kube: Kube, keys: ReportKeys, *, health: Health, stop: asyncio.Event
) -> AsyncIterator[Tenure]:
    """Lead while the block runs, unless `stop` is set before the Lease is acquired.

    `kube` writes only while this operator leads; if the operator loses the Lease, `stop` is set.
    Without the name of a Lease, the operator is the only one and leads at once.
    """
    tenure = Tenure()
    if not settings.lease_name:
        yield tenure
        return
    async with AsyncExitStack() as stack:
        own = await Kube.connect()
        stack.push_async_callback(own.close)
        lease = _lease(settings, own, health)
        kube.write_seconds = lease.write_seconds
        leads = registry.LEADER.labels(settings.lease_name)
        standby = ReportProxy(lease, keys.pins)
        listener = Listener(standby.routes(), LIMITS, keys.context, name="report")
        async with serving(listener, settings.report_port):
            health.waits_for = f"the Lease {settings.lease_name} cannot be read"
            led = await until(stop, lease.acquire())
        stack.push_async_callback(lease.release)
        leads.set(led)
        if led:
            health.checks.append(lambda: _overdue(lease))
            await stack.enter_async_context(while_open(_keep(lease, tenure, stop)))
        yield tenure


async def _keep(lease: Lease, tenure: Tenure, stop: asyncio.Event) -> None:
    await lease.keep()
    tenure.lost = True
    stop.set()


def _overdue(lease: Lease) -> str | None:
    """Return a sentence if this operator lost the Lease long ago and still runs: it is stuck."""
    if lease.write_seconds() > -WRITE_SECONDS:
        return None
    return "the Lease was not renewed in time, and the operator has not ended"


def _lease(settings: Settings, kube: Kube, health: Health) -> Lease:
    def ready() -> None:  # a standby passes Reports on
        health.waits_for = None

    host = f"[{settings.pod_ip}]" if ":" in settings.pod_ip else settings.pod_ip
    return Lease(
        kube,
        name=settings.lease_name or "",
        holder=f"{socket.gethostname()}_{uuid.uuid4().hex[:8]}",
        address=f"https://{host}:{settings.report_port}",
        on_known=ready,
    )

"""Assembles the operator and runs it until SIGTERM or SIGINT."""

import asyncio
import signal
import time
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from afresh import clock
from afresh.kube import handlers, report_server
from afresh.kube.apply import Applier
from afresh.kube.async_scopes import serving, until, while_open
from afresh.kube.cache import Cache
from afresh.kube.class_loop import ClassLoop
from afresh.kube.client import Kube
from afresh.kube.errors import ConflictError, KubeError
from afresh.kube.ha import leadership
from afresh.kube.handlers import EventRouter
from afresh.kube.health import Health
from afresh.kube.heartbeat import heartbeat
from afresh.kube.isolation import Isolation
from afresh.kube.listener import Limits, Listener, Route
from afresh.kube.loop import Loop
from afresh.kube.metrics_view import MetricsView
from afresh.kube.observe import Observer
from afresh.kube.queue import Key, KeyQueue
from afresh.kube.report_keys import ReportKeys
from afresh.kube.report_server import ReportServer
from afresh.kube.resync import Resync
from afresh.kube.scrape import Scrape
from afresh.kube.seal import Seal
from afresh.logs import get_logger
from afresh.manifests.network_policy import ReportPeer
from afresh.metrics import registry
from afresh.metrics.gauges import Gauges
from afresh.settings import Settings

log = get_logger()
STUCK_SECONDS = 600.0
"""Much longer than a step in which every request to the API server is repeated."""
MANY_CONFLICTS = 5
METRICS_LIMITS = Limits(connections=48, of_one_address=32)


async def run(settings: Settings, *, stuck_seconds: float = STUCK_SECONDS) -> int:
    """Run the operator until SIGTERM or SIGINT, and return its exit status.

    The process may die at any instant. The status is 1 if another operator may lead now: the
    restarted process waits for the Lease.
    """
    stop = asyncio.Event()
    running = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        running.add_signal_handler(number, stop.set)
    health = Health()
    async with AsyncExitStack() as stack:
        kube = await Kube.connect()
        stack.push_async_callback(kube.close)
        await stack.enter_async_context(heartbeat())
        await stack.enter_async_context(serving(_metrics_listener(health), settings.metrics_port))
        keys = ReportKeys(kube, settings.report_secret)
        health.waits_for = "the key of the report endpoint cannot be read"
        if not await until(stop, keys.open()):
            return 0
        await stack.enter_async_context(while_open(keys.keep()))
        tenure = await stack.enter_async_context(
            leadership.leading(settings, kube, keys, health=health, stop=stop)
        )
        if not stop.is_set():
            await _lead(settings, kube, keys, health, stop, stuck_seconds)
    log.info("stopped")
    return 1 if tenure.lost else 0


async def _lead(
    settings: Settings,
    kube: Kube,
    keys: ReportKeys,
    health: Health,
    stop: asyncio.Event,
    stuck_seconds: float,
) -> None:
    """Do the operator's work until `stop` is set."""
    seal = Seal(keys.seal(), doubts=settings.checks_episodes, since=keys.sealed_since())
    cache, queue = Cache(seal), KeyQueue()
    classes = KeyQueue(registry.CLASS_CONTROLLER)
    router = EventRouter(cache, queue, classes)
    health.checks += [lambda: _stuck(queue, stuck_seconds), router.watch_lag.late]
    loop = _loop(settings, kube, keys, cache, queue)
    reports = Listener(
        ReportServer(kube=kube, cache=cache, queue=queue).routes(),
        report_server.LIMITS,
        keys.context,
        name="report",
    )
    resync = Resync(kube=kube, cache=cache, router=router, namespaces=settings.namespaces)
    health.waits_for = "the first list of all objects is not complete"
    if not await until(stop, resync.fill()):
        return
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(serving(reports, settings.report_port))
        registry.REGISTRY.register(Gauges(MetricsView(cache)))
        registry.MAX_WORKERS.labels(registry.CONTROLLER).set(settings.workers)
        for _ in range(settings.workers):
            await stack.enter_async_context(while_open(_work(loop, queue)))
        registry.MAX_WORKERS.labels(registry.CLASS_CONTROLLER).set(1)
        await stack.enter_async_context(
            while_open(_work(ClassLoop(kube, cache), classes, registry.CLASS_CONTROLLER))
        )
        await stack.enter_async_context(while_open(resync.run()))
        health.waits_for = None
        log.info("started", namespaces=settings.namespaces or "all")
        await handlers.watch(router, namespaces=settings.namespaces, stop=stop)


def _stuck(queue: KeyQueue, seconds: float) -> str | None:
    longest = queue.longest()
    if longest is None or longest[1] <= seconds:
        return None
    return f"a step for the package {longest[0]} takes more than {seconds:.0f} s"


def _loop(settings: Settings, kube: Kube, keys: ReportKeys, cache: Cache, queue: KeyQueue) -> Loop:
    # With a Service for Reports, the operator is a pod and this is its namespace.
    peer = ReportPeer(namespace=kube.namespace, port=settings.report_port)
    isolation = Isolation(kube=kube, cache=cache, reports=peer if settings.report_url else None)
    return Loop(
        kube=kube,
        cache=cache,
        observer=Observer(
            kube=kube,
            cache=cache,
            isolation=isolation,
            report_url=settings.report_url,
            report_pins=keys.pins,
        ),
        applier=Applier(
            kube=kube,
            cache=cache,
            isolation=isolation,
            runner_image=settings.runner_image,
            derives_users=settings.pod_users == "derived",
            seal=Seal(keys.seal()),
        ),
        wake=queue.add,
    )


class Steps(Protocol):
    """A loop's body."""

    async def step(self, key: Key, *, now: datetime) -> timedelta | None:
        """Take one step for `key`; return when to look again. Raises KubeError."""


async def _work(loop: Steps, queue: KeyQueue, controller: str = registry.CONTROLLER) -> None:
    """Reconcile keys one after another. A failure of one key does not end the loop."""
    while True:
        key = await queue.get()
        # Every log line of the step has it, also those of background Events.
        structlog.contextvars.bind_contextvars(**_named(key))
        began = time.perf_counter()
        registry.ACTIVE_WORKERS.labels(controller).inc()
        result = "success"
        try:
            again = await loop.step(key, now=clock.now())
            queue.forget(key)
            if again is not None:
                queue.add_after(key, again)
                result = "requeue_after"
        except ConflictError as error:
            # Something changed meanwhile: look again. Repeated conflicts are worth a log line.
            if queue.retry(key) % MANY_CONFLICTS == 0:
                log.warning("not_reconciled", error=str(error))
            result = "requeue"
        except KubeError as error:
            log.warning("not_reconciled", error=str(error))
            queue.retry(key)
            result = "error"
        except Exception:  # top level of the loop: a bug in one package must not stop the others
            log.exception("reconcile_failed")
            queue.retry(key)
            result = "error"
        finally:
            queue.done(key)
            registry.reconciled(controller, result, time.perf_counter() - began)


def _named(key: Key) -> dict[str, str]:
    """Return the log fields of a key; a class has no namespace."""
    if not key.namespace:
        return {"agent_class": key.name}
    return {"namespace": key.namespace, "name": key.name}


def _metrics_listener(health: Health) -> Listener:
    scrape: dict[str, dict[str, Route]] = {"/metrics": {"GET": Scrape(registry.REGISTRY).answer}}
    return Listener(scrape | health.routes(), METRICS_LIMITS, name="metrics")

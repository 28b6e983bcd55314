"""Puts the operator together and runs it until it is told to stop."""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from aiohttp import web
from prometheus_client.aiohttp import make_aiohttp_handler

from afresh import clock, metrics
from afresh.kube import handlers, resync
from afresh.kube.apply import Applier
from afresh.kube.cache import Cache
from afresh.kube.client import Kube
from afresh.kube.errors import ConflictError, KubeError
from afresh.kube.handlers import Waker
from afresh.kube.isolation import Isolation
from afresh.kube.loop import Loop
from afresh.kube.observe import Observer
from afresh.kube.queue import KeyQueue
from afresh.kube.report_server import ReportServer
from afresh.logs import get_logger
from afresh.manifests.network_policy import ReportPeer
from afresh.metrics_standing import Standing
from afresh.settings import Settings

log = get_logger()


async def run(settings: Settings) -> None:
    """Run the operator until SIGTERM or SIGINT. Any process death at any instant is allowed."""
    stop = asyncio.Event()
    running = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        running.add_signal_handler(number, stop.set)
    kube = await Kube.connect()
    cache, queue = Cache(), KeyQueue()
    waker = Waker(cache, queue)
    loop = _loop(settings, kube, cache, queue)
    reports = ReportServer(kube=kube, cache=cache, queue=queue)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(kube.close)
        await stack.enter_async_context(_serve(_metrics_app(), settings.metrics_port))
        await resync.fill(kube, waker, settings.namespaces)
        await stack.enter_async_context(_serve(reports.application(), settings.report_port))
        metrics.REGISTRY.register(Standing(cache))
        metrics.MAX_WORKERS.labels(metrics.CONTROLLER).set(settings.workers)
        for _ in range(settings.workers):
            await stack.enter_async_context(_task(lambda: _work(loop, queue)))
        await stack.enter_async_context(
            _task(lambda: resync.resync(kube, waker, cache, settings.namespaces))
        )
        log.info("started", namespaces=settings.namespaces or "all")
        await handlers.watch(waker, namespaces=settings.namespaces, stop=stop)
    log.info("stopped")


def _loop(settings: Settings, kube: Kube, cache: Cache, queue: KeyQueue) -> Loop:
    # Where Reports go to a Service, the operator is a pod, and this its namespace.
    peer = ReportPeer(namespace=kube.namespace, port=settings.report_port)
    isolation = Isolation(kube=kube, cache=cache, reports=peer if settings.report_url else None)
    return Loop(
        kube=kube,
        cache=cache,
        observer=Observer(
            kube=kube, cache=cache, isolation=isolation, report_url=settings.report_url
        ),
        applier=Applier(
            kube=kube,
            cache=cache,
            isolation=isolation,
            runner_image=settings.runner_image,
            derives_users=settings.pod_users == "derived",
        ),
        wake=queue.add,
    )


async def _work(loop: Loop, queue: KeyQueue) -> None:
    """Reconcile keys one after another. A failure of one key is no failure of the loop."""
    while True:
        key = await queue.get()
        began = time.perf_counter()
        metrics.ACTIVE_WORKERS.labels(metrics.CONTROLLER).inc()
        result = "success"
        try:
            again = await loop.step(key, now=clock.now())
            queue.forget(key)
            if again is not None:
                queue.add_after(key, again)
                result = "requeue_after"
        except ConflictError:
            queue.retry(key)  # something changed meanwhile: look again
            result = "requeue"
        except KubeError as error:
            log.warning("not_reconciled", package=str(key), error=str(error))
            queue.retry(key)
            result = "error"
        except Exception:  # the loop's top: a bug in one package must not stop the others
            log.exception("reconcile_failed", package=str(key))
            queue.retry(key)
            result = "error"
        finally:
            queue.done(key)
            metrics.reconciled(result, time.perf_counter() - began)


def _metrics_app() -> web.Application:
    app = web.Application()
    app.router.add_get("/metrics", make_aiohttp_handler(metrics.REGISTRY))
    app.router.add_get("/healthz", _healthz)
    return app


async def _healthz(_: web.Request) -> web.Response:
    return web.Response(text="ok")


@asynccontextmanager
async def _serve(app: web.Application, port: int) -> AsyncIterator[None]:
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, port=port).start()
        yield
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _task(begin: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    task = asyncio.create_task(begin())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

"""Servers and tasks bound to an `async with` block, and work that a stop event ends."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from afresh.kube.listener import Listener


@asynccontextmanager
async def serving(listener: Listener, port: int) -> AsyncIterator[None]:
    """Listen on all addresses. Connections that are open at the end are closed."""
    try:
        listener.open(port)
        yield
    finally:
        await listener.close()


@asynccontextmanager
async def while_open(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run a task while the block runs, and cancel it at the end of the block."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def until(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Run `work` until it ends or `stop` is set; return whether it ended."""
    task = asyncio.create_task(work)
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        return task.done()
    finally:
        for each in (task, stopped):
            each.cancel()
        await asyncio.gather(task, stopped, return_exceptions=True)

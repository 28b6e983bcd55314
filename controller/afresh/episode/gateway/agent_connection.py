"""The connections of the agent's programs: how many there are, and what each may hold.

Owns the bounds on their number, bytes and seconds, and that one request follows another: what a
program sends before it has its answer is dropped, and its connection ends with the answer.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

from afresh.episode.gateway.agent_request import AgentRequest, HungUp
from afresh.episode.gateway.bounds import (
    CONNECTIONS,
    DROPPED_LIMIT,
    HEAD_LIMIT,
    READ_BUFFER,
    WRITE_BUFFER,
    ConnectionPatience,
)
from afresh.episode.gateway.request_head import NOTHING_SAID, Head, Refused, read_head

HEAD_END = b"\r\n\r\n"
TOO_LONG_A_HEAD = "The request's headers are too long."

Handler = Callable[[AgentRequest], Awaitable[None]]


class Connections:
    """All connections of one gateway. `refusal` writes the body of an error."""

    def __init__(
        self, handler: Handler, refusal: Callable[[str], bytes], patience: ConnectionPatience
    ) -> None:
        self.handler = handler
        self.refusal = refusal
        self.patience = patience
        self._all: set[AgentConnection] = set()
        self._waiting: dict[AgentConnection, None] = {}  # from the oldest on

    def new(self) -> "AgentConnection":
        """Return what serves a connection that is to come."""
        return AgentConnection(self)

    def enter(self, connection: "AgentConnection") -> None:
        """Take in a connection; end the one that has waited longest, if there are too many."""
        if len(self._all) >= CONNECTIONS:
            oldest = next(iter(self._waiting), connection)
            self.leave(oldest)
            oldest.abort()
            if oldest is connection:
                return
        self._all.add(connection)
        self._waiting[connection] = None

    def leave(self, connection: "AgentConnection") -> None:
        """Forget a connection."""
        self._all.discard(connection)
        self._waiting.pop(connection, None)

    def begin(self, connection: "AgentConnection") -> None:
        """Take in that a request has arrived as a whole: it makes no room for others."""
        self._waiting.pop(connection, None)

    def wait(self, connection: "AgentConnection") -> None:
        """Take in that the agent is waited for."""
        if connection in self._all:
            self._waiting[connection] = None

    async def close(self) -> None:
        """End all; what is under way is cut off. Returns when all have ended."""
        tasks = [connection.end() for connection in self._all]
        await asyncio.gather(*(task for task in tasks if task), return_exceptions=True)


class AgentConnection(asyncio.Protocol):
    """One connection. Ends with the first thing in it that is not plain."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._buffer = bytearray()
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._dropped: int | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=WRITE_BUFFER)
        self._task = asyncio.get_running_loop().create_task(self._serve())
        self._task.add_done_callback(self._forget_task)
        self._connections.enter(self)

    def data_received(self, data: bytes) -> None:
        """Keep what arrives for a request, and nothing that comes after it."""
        if self._dropped is not None:
            self._dropped += len(data)
            if self._dropped > DROPPED_LIMIT:
                self.abort()
            return
        self._buffer += data
        if len(self._buffer) > READ_BUFFER and self._transport:
            self._transport.pause_reading()
        self._arrived.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """End what is being done for an agent that has hung up."""
        self._transport = None
        self._connections.leave(self)
        if self._task:
            self._task.cancel()

    def pause_writing(self) -> None:
        """Wait for the agent to read."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Go on."""
        self._writable.set()

    def abort(self) -> None:
        """Break the connection."""
        if self._transport:
            self._transport.abort()

    def end(self) -> asyncio.Task[None] | None:
        """Break the connection, and return what is still being done for it."""
        self.abort()
        if self._task:
            self._task.cancel()
        return self._task

    async def write(self, data: bytes) -> None:
        """Send, as fast as the agent reads. Raises HungUp."""
        if self._transport is None or self._transport.is_closing():
            raise HungUp
        self._transport.write(data)
        await self._writable.wait()

    async def take(self, most: int) -> bytes:
        """Return at least one byte and at most so many."""
        while not self._buffer:
            await self._more()
        return self._cut(most)

    async def take_until(self, end: bytes, most: int) -> bytes | None:
        """Return what comes before `end`; None if that is longer than `most`."""
        while (length := self._buffer.find(end, 0, most + len(end))) < 0:
            if len(self._buffer) >= most + len(end):
                return None
            await self._more()
        return self._cut(length + len(end)).removesuffix(end)

    def end_request(self) -> None:
        """Take in that the request is whole: nothing of what comes before its answer is kept."""
        self._connections.begin(self)
        self._drop()

    def _cut(self, most: int) -> bytes:
        data = bytes(self._buffer[:most])
        del self._buffer[:most]
        self._go_on_reading()
        return data

    def _drop(self) -> None:
        self._dropped = (self._dropped or 0) + len(self._buffer)
        self._buffer.clear()
        self._go_on_reading()

    def _go_on_reading(self) -> None:
        if len(self._buffer) <= READ_BUFFER and self._transport:
            self._transport.resume_reading()

    def _forget_task(self, _task: asyncio.Task[None]) -> None:
        """Break the cycle of connection, task, exception and frames, which may hold a whole body.

        The garbage collector counts objects, not bytes: it would come far too late.
        """
        self._task = None

    async def _more(self) -> None:
        self._arrived.clear()
        await self._arrived.wait()

    async def _serve(self) -> None:
        try:
            while await self._serve_one():
                pass
            await self._part()
        except (HungUp, TimeoutError):
            pass
        finally:
            self.abort()

    async def _serve_one(self) -> bool:
        """Answer a request; return whether another one may follow. Raises TimeoutError."""
        patience = self._connections.patience
        request = AgentRequest(self, NOTHING_SAID, patience.body)
        try:
            request = AgentRequest(self, await self._read_head(), patience.body)
        except Refused as refused:
            await request.answer(refused.status, self._connections.refusal(str(refused)))
            return False
        await self._connections.handler(request)
        self._connections.wait(self)
        is_alone, self._dropped = not self._dropped, None
        return is_alone and request.is_over

    async def _read_head(self) -> Head:
        patience = self._connections.patience
        async with asyncio.timeout(patience.idle):
            while not self._buffer:
                await self._more()
        async with asyncio.timeout(patience.head):
            data = await self.take_until(HEAD_END, HEAD_LIMIT)
        if data is None:
            raise Refused(431, TOO_LONG_A_HEAD)
        return read_head(data)

    async def _part(self) -> None:
        """Let the agent read the answer: a close while it sends would destroy it."""
        self._drop()
        self._connections.wait(self)
        if self._transport and not self._transport.is_closing():
            self._transport.write_eof()
            async with asyncio.timeout(self._connections.patience.end):
                await asyncio.Event().wait()  # until the agent hangs up

"""The connections from the agent programs, and the limits on their number and on each.

Owns the limits on their number, buffered bytes and seconds. Requests on one connection are handled
one after another: what a program sends before it has its answer is dropped, and its connection is
closed after the answer.
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
from afresh.episode.gateway.request_head import UNREAD_HEAD, Head, Refused, read_head

HEAD_END = b"\r\n\r\n"
TOO_LONG_A_HEAD = "The request's headers are too long."

Handler = Callable[[AgentRequest], Awaitable[None]]


class Connections:
    """All connections of one gateway. `refusal` returns the body of an error with a message."""

    def __init__(
        self, handler: Handler, refusal: Callable[[str], bytes], patience: ConnectionPatience
    ) -> None:
        self.handler = handler
        self.refusal = refusal
        self.patience = patience
        self._all: set[AgentConnection] = set()
        self._waiting: dict[AgentConnection, None] = {}  # the oldest first

    def new(self) -> "AgentConnection":
        """Return the protocol object for a new connection."""
        return AgentConnection(self)

    def enter(self, connection: "AgentConnection") -> None:
        """Register a connection; if there are too many, abort the one that was idle longest."""
        if len(self._all) >= CONNECTIONS:
            oldest = next(iter(self._waiting), connection)
            self.leave(oldest)
            oldest.abort()
            if oldest is connection:
                return
        self._all.add(connection)
        self._waiting[connection] = None

    def leave(self, connection: "AgentConnection") -> None:
        """Remove a connection."""
        self._all.discard(connection)
        self._waiting.pop(connection, None)

    def begin(self, connection: "AgentConnection") -> None:
        """Note that a whole request has arrived: its connection is not aborted for a new one."""
        self._waiting.pop(connection, None)

    def wait(self, connection: "AgentConnection") -> None:
        """Note that the connection is idle and waits for the agent."""
        if connection in self._all:
            self._waiting[connection] = None

    async def close(self) -> None:
        """Abort all connections with their requests. Returns when all have ended."""
        tasks = [connection.end() for connection in self._all]
        await asyncio.gather(*(task for task in tasks if task), return_exceptions=True)


class AgentConnection(asyncio.Protocol):
    """One connection from the agent. It is closed after the first request that is refused."""

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
        """Start to serve the connection."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=WRITE_BUFFER)
        self._task = asyncio.get_running_loop().create_task(self._serve())
        self._task.add_done_callback(self._forget_task)
        self._connections.enter(self)

    def data_received(self, data: bytes) -> None:
        """Buffer bytes of the current request; drop bytes that arrive after its end."""
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
        """Cancel the work for an agent that has closed the connection."""
        self._transport = None
        self._connections.leave(self)
        if self._task:
            self._task.cancel()

    def pause_writing(self) -> None:
        """Stop writing until the agent has read."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Continue to write."""
        self._writable.set()

    def abort(self) -> None:
        """Close the connection immediately."""
        if self._transport:
            self._transport.abort()

    def end(self) -> asyncio.Task[None] | None:
        """Close the connection immediately, cancel its task, and return the task."""
        self.abort()
        if self._task:
            self._task.cancel()
        return self._task

    async def write(self, data: bytes) -> None:
        """Send `data`, as fast as the agent reads. Raises HungUp."""
        if self._transport is None or self._transport.is_closing():
            raise HungUp
        self._transport.write(data)
        await self._writable.wait()

    async def take(self, most: int) -> bytes:
        """Wait for data; return at least one byte and at most `most` bytes."""
        while not self._buffer:
            await self._more()
        return self._cut(most)

    async def take_until(self, end: bytes, most: int) -> bytes | None:
        """Return the bytes before `end`, and skip `end`; None if they are more than `most`."""
        while (length := self._buffer.find(end, 0, most + len(end))) < 0:
            if len(self._buffer) >= most + len(end):
                return None
            await self._more()
        return self._cut(length + len(end)).removesuffix(end)

    def end_request(self) -> None:
        """Note that the whole request was read: what arrives before its answer is dropped."""
        self._connections.begin(self)
        self._drop()

    def _cut(self, most: int) -> bytes:
        data = bytes(self._buffer[:most])
        del self._buffer[:most]
        self._resume_reading()
        return data

    def _drop(self) -> None:
        self._dropped = (self._dropped or 0) + len(self._buffer)
        self._buffer.clear()
        self._resume_reading()

    def _resume_reading(self) -> None:
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
            await self._close_gracefully()
        except (HungUp, TimeoutError):
            pass
        finally:
            self.abort()

    async def _serve_one(self) -> bool:
        """Answer a request; return whether another one may follow. Raises TimeoutError."""
        patience = self._connections.patience
        request = AgentRequest(self, UNREAD_HEAD, patience.body)
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

    async def _close_gracefully(self) -> None:
        """Wait until the agent has read the answer.

        If the connection is closed while the agent still sends, TCP discards the answer.
        """
        self._drop()
        self._connections.wait(self)
        if self._transport and not self._transport.is_closing():
            self._transport.write_eof()
            async with asyncio.timeout(self._connections.patience.end):
                await asyncio.Event().wait()  # until the agent closes the connection

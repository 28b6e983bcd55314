"""Accepts small HTTP requests from any client, within fixed limits of memory and time.

This module owns the limits on connections, time and bytes. It does not know what the routes do.

A general server is not enough here. For a request head that never ends, aiohttp keeps up to 127
fields of 8 KiB and waits without a limit. It keeps each field as bytes and as text, and the text
takes four bytes per character if it contains an emoji: 90 connections used 421 MB in less than a
second.
"""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

from afresh import clock
from afresh.kube.http_message import (
    MOST_HEAD,
    Answer,
    Request,
    RequestError,
    length_of_body,
    message,
    parse_head,
)
from afresh.kube.stream import READ_BYTES, WRITE_BYTES, Stream, TlsStream
from afresh.logs import get_logger
from afresh.metrics import registry

log = get_logger()
Route = Callable[[Request], Awaitable[Answer]]
END_OF_HEAD = b"\r\n\r\n"
# After this many, the event loop handles other events.
ACCEPTED_AT_ONCE = 8
BACKLOG = 128
# A connection counts against its address for this long, even if it ends sooner.
HOLD_SECONDS = 1.0
REST_SECONDS = 1.0
# Closing a socket with these options resets the connection and frees its buffers at once.
RESET = struct.pack("ii", 1, 0)
# The bytes that TLS adds to a request: the handshake, and the frames of about 40 records.
TLS_BYTES = 4096
# One connection's objects: measured 30 KiB with TLS, whose records are of up to 16 KiB.
CONNECTION_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits on the clients of a listener.

    There may be `connections` at once, of which `of_one_address` may be open or have begun in the
    last second. A request must arrive within `read_seconds` and be answered within another
    `answer_seconds`.
    """

    connections: int = 192
    of_one_address: int = 16
    body: int = 0
    read_seconds: float = 5.0
    answer_seconds: float = 10.0

    @property
    def received(self) -> int:
        """How many bytes one connection may send."""
        return MOST_HEAD + self.body + TLS_BYTES

    @property
    def most_bytes(self) -> int:
        """How much memory all connections use at most: received bytes, their copies, and TLS."""
        each = 2 * self.received + READ_BYTES + 2 * WRITE_BYTES + CONNECTION_BYTES
        return self.connections * each


class Listener:
    """Answers `routes`, by path and method, with one request per connection.

    With a `context` it uses TLS. `context` is called for each connection, so that keys may change.
    """

    def __init__(
        self,
        routes: Mapping[str, Mapping[str, Route]],
        limits: Limits,
        context: Callable[[], ssl.SSLContext] | None = None,
        *,
        name: str,
    ) -> None:
        self._routes = routes
        self._limits = limits
        self._context = context
        self._refused = registry.REFUSED_CONNECTIONS.labels(name)
        self._servers: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._of: dict[str, dict[asyncio.Task[None], None]] = {}
        self._begun: Counter[str] = Counter()

    def open(self, port: int, host: str | None = None) -> int:
        """Listen on `host`, else on all addresses, and return the port. Raises OSError."""
        server = _listening(port, host)
        self._servers.append(server)
        asyncio.get_running_loop().add_reader(server, self._accept, server)
        bound: int = server.getsockname()[1]
        return bound

    async def close(self) -> None:
        """Close at once, including connections that are being answered."""
        for server in self._servers:
            asyncio.get_running_loop().remove_reader(server)
            server.close()
        self._servers.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, server: socket.socket) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                sock, address = server.accept()
            except (BlockingIOError, InterruptedError, ConnectionError):
                return
            except (
                OSError
            ) as error:  # no descriptors are left: without a pause it would repeat at once
                log.warning("not_accepted", error=str(error))
                self._rest(server)
                return
            self._admit(sock, str(address[0]))

    def _rest(self, server: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(server)

        def again() -> None:
            if server in self._servers:
                loop.add_reader(server, self._accept, server)

        loop.call_later(REST_SECONDS, again)

    def _admit(self, sock: socket.socket, host: str) -> None:
        if self._begun[host] >= self._limits.of_one_address or not self._makes_room(host):
            self._refused.inc()
            _reset(sock)
            return
        sock.setblocking(False)
        self._begun[host] += 1
        task = asyncio.create_task(self._serve(sock))
        self._tasks.add(task)
        self._of.setdefault(host, {})[task] = None
        # Not in the task's own `finally`, which does not run if the task is cancelled early.
        task.add_done_callback(partial(self._ended, sock, host, clock.elapsed()))

    def _makes_room(self, host: str) -> bool:
        """Return whether `host` may have another connection; if necessary, close one to make room.

        The oldest connection of the address with the most is closed, even while it is being
        answered: a client that never reads would keep its place for long, and an honest one needs
        only milliseconds.
        """
        if len(self._tasks) < self._limits.connections:
            return True
        busiest = max(self._of, key=lambda each: len(self._of[each]), default=host)
        if len(self._of.get(busiest, ())) <= self._begun[host]:
            return False
        oldest = next(iter(self._of[busiest]))
        self._forget(busiest, oldest)
        self._refused.inc()
        oldest.cancel()
        return True

    def _forget(self, host: str, task: asyncio.Task[None]) -> None:
        mine = self._of.get(host, {})
        mine.pop(task, None)
        if not mine:
            self._of.pop(host, None)

    def _ended(
        self, sock: socket.socket, host: str, begun_at: float, task: asyncio.Task[None]
    ) -> None:
        sock.close()
        self._tasks.discard(task)
        self._forget(host, task)
        left = begun_at + HOLD_SECONDS - clock.elapsed()
        asyncio.get_running_loop().call_later(max(left, 0), self._release, host)

    def _release(self, host: str) -> None:
        self._begun[host] -= 1
        if not self._begun[host]:
            del self._begun[host]

    async def _serve(self, sock: socket.socket) -> None:
        try:
            async with asyncio.timeout(self._limits.read_seconds):
                stream = self._stream(sock)
                await stream.open()
                asked = await self._read(stream)
            async with asyncio.timeout(self._limits.answer_seconds):
                answer = asked if isinstance(asked, Answer) else await self._answer(asked)
                await stream.send(answer.head())
                await stream.send(answer.body)
        except (OSError, TimeoutError):
            return  # disconnected, too slow, or not TLS: no answer is possible

    def _stream(self, sock: socket.socket) -> Stream:
        most = self._limits.received
        if self._context is None:
            return Stream(sock, most)
        return TlsStream(sock, most, self._context(), server_side=True)

    async def _read(self, stream: Stream) -> Request | Answer:
        """Return the request, or the error answer to an invalid one."""
        try:
            return await read_request(stream, most=self._limits.body)
        except RequestError as error:
            return message(error.status, str(error))

    async def _answer(self, request: Request) -> Answer:
        methods = self._routes.get(request.path)
        if methods is None:
            return message(404, "this path does not exist")
        route = methods.get(request.method)
        if route is None:
            return message(405, f"the method must be {' or '.join(methods)}")
        try:
            return await route(request)
        except Exception:  # top level of a request: a bug in one must not stop the others
            log.exception("request_failed", path=request.path)
            return message(500, "the operator failed; its log says why")


async def read_request(stream: Stream, *, most: int) -> Request:
    """Read one request with a body of at most `most` bytes. Raises RequestError, and OSError."""
    read = bytearray()
    while (end := read.find(END_OF_HEAD, 0, MOST_HEAD)) < 0:
        if len(read) >= MOST_HEAD:
            raise RequestError(431, f"the head of the request is longer than {MOST_HEAD} bytes")
        await _more(stream, read)
    request = parse_head(bytes(read[:end]))
    start = end + len(END_OF_HEAD)
    whole = start + length_of_body(request, most=most)
    while len(read) < whole:
        await _more(stream, read)
    return Request(request.method, request.path, request.fields, bytes(read[start:whole]))


async def _more(stream: Stream, read: bytearray) -> None:
    data = await stream.receive()
    if not data:
        raise ConnectionResetError("the connection ended before the request")
    read += data


def _listening(port: int, host: str | None) -> socket.socket:
    """Return a listening socket for IPv6 and IPv4, or for IPv4 where the machine has no IPv6."""
    if host is not None:
        server = socket.create_server((host, port), backlog=BACKLOG)
    else:
        try:
            both = socket.has_dualstack_ipv6()
            family = socket.AF_INET6 if both else socket.AF_INET
            server = socket.create_server(
                ("", port), family=family, dualstack_ipv6=both, backlog=BACKLOG
            )
        except OSError:
            server = socket.create_server(("", port), backlog=BACKLOG)
    server.setblocking(False)
    return server


def _reset(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    sock.close()

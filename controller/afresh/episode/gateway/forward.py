"""Forwards a request of the agent to the provider, and the answer back, as streams.

Owns what of a request reaches the provider and what of an answer reaches the agent: no credential
of the agent's goes out, and none of the runner's comes back. With `upstream_request` and
`request_body` the only file that knows aiohttp.
"""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web

from afresh.episode.gateway.answer_reader import AnswerReader
from afresh.episode.gateway.meter import Meter, NothingLeft, Turn
from afresh.episode.gateway.model_api import Fault, Route, Upstream
from afresh.episode.gateway.outage import is_too_long
from afresh.episode.gateway.request_body import BODY_LIMIT, BodyDesk, Refused, read_whole
from afresh.episode.gateway.upstream_request import build_request, open_session, returned_headers

SHUTDOWN_SECONDS = 0.05
ERROR_LIMIT = 64 << 10
HEADER_LIMIT = 64 << 10
NOT_A_MODEL_PATH = "Only requests for the model pass."
UNREACHABLE = "The model's endpoint cannot be reached."
# Some programs sleep for as long as they are told; the operator does that without a pod.
WAITS = frozenset({"retry-after", "retry-after-ms"})
# No limit lasts longer: what is later was meant in another unit, or is no time at all.
LONGEST_WAIT_SECONDS = 32 * 86_400
BROKEN = (aiohttp.ClientError, TimeoutError, OSError)


class Serving:
    """Serves one socket, on an event loop of its own, until it is stopped."""

    def __init__(self, upstream: Upstream, meter: Meter) -> None:
        self._upstream = upstream
        self._meter = meter
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()

    def run(self, listener: socket.socket) -> None:
        """Serve. Returns when it is stopped; requests under way are then cut off."""
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(listener))

    def stop(self) -> None:
        """End `run`, from another thread."""
        self._loop.call_soon_threadsafe(self._stopped.set)

    async def _serve(self, listener: socket.socket) -> None:
        async with open_session(self._upstream) as session:
            forwarder = Forwarder(self._upstream, self._meter, session)
            server = web.Server(
                forwarder.handle,
                handler_cancellation=True,  # an agent that hangs up ends the provider's request
                access_log=None,
                max_line_size=HEADER_LIMIT,
                max_field_size=HEADER_LIMIT,
            )
            runner = web.ServerRunner(server, shutdown_timeout=SHUTDOWN_SECONDS)
            await runner.setup()
            await web.SockSite(runner, listener).start()
            try:
                await self._stopped.wait()
            finally:
                await runner.cleanup()


class Forwarder:
    """Handles the requests of one episode."""

    def __init__(self, upstream: Upstream, meter: Meter, session: aiohttp.ClientSession) -> None:
        self._upstream = upstream
        self._meter = meter
        self._session = session
        self._desk = BodyDesk(upstream.api, upstream.model)
        self._settled = asyncio.Condition()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        route = self._upstream.api.route(request.method, request.rel_url.raw_path)
        if route is Route.FORBIDDEN:
            return self._refusal(403, NOT_A_MODEL_PATH)
        if route is Route.LOCAL:
            return web.Response()
        if route is Route.FORWARD:
            return await self._forward(request)
        try:
            turn = await self._begin(request)
        except NothingLeft as refusal:
            return self._refusal(400, str(refusal))
        try:
            with turn:
                return await self._generate(request, turn)
        finally:
            async with self._settled:
                self._settled.notify_all()

    async def _begin(self, request: web.BaseRequest) -> Turn:
        """Reserve a turn; near the end of the budget, when it is this request's. NothingLeft."""
        size = request.content_length if request.can_read_body else 0
        while True:
            async with self._settled:
                turn = self._meter.begin(BODY_LIMIT if size is None else size)
                if turn:
                    return turn
                await self._settled.wait()

    async def _forward(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass request and answer on; nothing is counted."""
        try:
            async with self._asking(request) as answer:
                return await _pass_on(request, answer, _Unread())
        except Refused as refused:
            return self._refusal(refused.status, str(refused))
        except BROKEN:
            return self._refusal(502, UNREACHABLE)

    async def _generate(self, request: web.BaseRequest, turn: Turn) -> web.StreamResponse:
        """Pass request and answer on, and tell the turn what comes."""
        try:
            async with self._asking(request, turn) as answer:
                if answer.status >= 300:
                    return await self._refused(answer, turn)
                reader = AnswerReader(self._upstream.api, answer.content_type)
                turn.answer = reader.answer
                return await _pass_on(request, answer, _Metered(reader, turn))
        except Refused as refused:
            return self._refusal(refused.status, str(refused))
        except BROKEN as error:
            if request.content.exception() is None:  # else it was the agent's side that broke
                distrusted = isinstance(error, aiohttp.ClientSSLError)
                turn.fault = Fault.UNTRUSTED if distrusted else Fault.UNREACHABLE
            return self._refusal(502, UNREACHABLE)

    @contextlib.asynccontextmanager
    async def _asking(
        self, request: web.BaseRequest, turn: Turn | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Ask the provider; the body is kept until the answer begins. Raises Refused, BROKEN."""
        async with self._desk.asked_by(request) as asked:
            if turn and isinstance(asked.body, bytes):
                turn.size = len(asked.body)
            asking = build_request(self._session, self._upstream, request, asked)
            try:
                answer = await asking
            except asyncio.CancelledError:  # the agent has hung up
                if turn:
                    turn.is_abandoned = request.content.is_eof()
                raise
        async with answer:
            yield answer

    async def _refused(self, answer: aiohttp.ClientResponse, turn: Turn) -> web.Response:
        body = await read_whole(answer.content, ERROR_LIMIT) or b""
        headers = {name.lower(): value for name, value in answer.headers.items()}
        api, now = self._upstream.api, time.time()
        turn.fault = api.fault_of(answer.status, body)
        if turn.fault is Fault.TOO_LONG and answer.status == 429:
            # Some programs would ask the same again for as long as they may run.
            return self._refusal(400, body.decode(errors="replace"))
        resets = api.reset_time(headers, body, now)
        wait = 0.0 if resets is None else resets - now
        turn.not_before = resets if wait <= LONGEST_WAIT_SECONDS else None
        withheld = {"content-length"} | (WAITS if is_too_long(wait) else set())
        passed = {
            name: value
            for name, value in returned_headers(answer).items()
            if name.lower() not in withheld
        }
        return web.Response(status=answer.status, body=body, headers=passed)

    def _refusal(self, status: int, message: str) -> web.Response:
        body = self._upstream.api.refusal(message)
        return web.Response(status=status, body=body, content_type="application/json")


class _Metered:
    """Reads an answer for its turn."""

    def __init__(self, reader: AnswerReader, turn: Turn) -> None:
        self._reader = reader
        self._turn = turn
        self.end = reader.end
        self.broken = reader.broken

    def feed(self, data: bytes) -> bool:
        """Take in a piece of the body; False if nothing more of it may pass."""
        self._reader.feed(data)
        return not self._turn.is_too_much


class _Unread:
    """In the place of a reader where nothing is counted."""

    def feed(self, _data: bytes) -> bool:
        """Pass over it."""
        return True

    def end(self) -> None:
        """Nothing to conclude."""

    def broken(self) -> None:
        """Nothing to conclude."""


async def _pass_on(
    request: web.BaseRequest, answer: aiohttp.ClientResponse, reader: _Metered | _Unread
) -> web.StreamResponse:
    """Write the answer to the agent as it comes. Raises nothing that belongs to either side."""
    response = web.StreamResponse(status=answer.status, reason=answer.reason)
    response.headers.update(returned_headers(answer))
    with contextlib.suppress(OSError):  # the agent has gone; what it got is counted
        await response.prepare(request)
        while True:
            try:
                piece = await answer.content.readany()
            except BROKEN:
                reader.broken()
                _hang_up(request)
                break
            if not piece:
                reader.end()
                break
            if not reader.feed(piece):
                _hang_up(request)
                break
            await response.write(piece)
    return response


def _hang_up(request: web.BaseRequest) -> None:
    """Break the connection, so that the agent sees that the answer is not whole."""
    if request.transport:
        request.transport.abort()

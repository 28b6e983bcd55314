"""Forwards a request of the agent to the provider, and streams the answer back.

Owns which parts of a request reach the provider and which parts of an answer reach the agent: no
credential of the agent is sent, and none of the runner is returned. Only this file and
`upstream_request` use aiohttp.
"""

import asyncio
import contextlib
import hmac
import socket
import time
from collections.abc import AsyncIterator, Awaitable
from typing import cast

import aiohttp

from afresh.episode.gateway.agent_connection import Connections
from afresh.episode.gateway.agent_request import AgentRequest, HungUp
from afresh.episode.gateway.answer_reader import AnswerReader, MemoryQuota
from afresh.episode.gateway.bounds import ANSWERS, BACKLOG, ConnectionPatience
from afresh.episode.gateway.circuit_breaker import is_too_long
from afresh.episode.gateway.meter import Meter, NothingLeft, Turn
from afresh.episode.gateway.model_api import ModelFault, Route, Upstream
from afresh.episode.gateway.request_body import BodyReader
from afresh.episode.gateway.request_head import Head, Refused
from afresh.episode.gateway.request_reading import GenerationParameters
from afresh.episode.gateway.upstream_request import (
    PATIENCE,
    UpstreamAnswer,
    build_request,
    open_session,
    returned_headers,
)

KEY_HEADERS = ("x-api-key", "x-goog-api-key")
ERROR_LIMIT = 64 << 10
NOT_THE_AGENT = "The request does not have the key that the agent of this episode was given."
NOT_A_MODEL_PATH = "Only requests to the model are allowed."
UNREACHABLE = "The model's endpoint cannot be reached."
SILENT = "The model does not answer."
# Some programs wait as long as these headers say; the operator can wait without a pod.
WAITS = frozenset({"retry-after", "retry-after-ms"})
# No rate limit lasts longer: a later time was meant in another unit, or is not a time.
LONGEST_WAIT_SECONDS = 32 * 86_400
BROKEN = (aiohttp.ClientError, TimeoutError, OSError)


class Silent(Exception):  # noqa: N818  # the provider caused it
    """The provider has the whole request, and has sent nothing for too long."""


class Serving:
    """Serves one socket, on an event loop of its own, until it is stopped."""

    def __init__(self, upstream: Upstream, meter: Meter, patience: ConnectionPatience) -> None:
        self._upstream = upstream
        self._meter = meter
        self._patience = patience
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()

    def run(self, listener: socket.socket) -> None:
        """Serve until `stop` is called; requests under way are then aborted."""
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(listener))

    def stop(self) -> None:
        """End `run`. Call it from another thread."""
        self._loop.call_soon_threadsafe(self._stopped.set)

    async def _serve(self, listener: socket.socket) -> None:
        async with open_session(self._upstream) as session:
            forwarder = Forwarder(self._upstream, self._meter, session)
            connections = Connections(forwarder.handle, self._upstream.api.refusal, self._patience)
            loop = asyncio.get_running_loop()
            server = await loop.create_server(connections.new, sock=listener, backlog=BACKLOG)
            try:
                await self._stopped.wait()
            finally:
                server.close()
                await connections.close()


class Forwarder:
    """Handles the requests of one episode."""

    def __init__(self, upstream: Upstream, meter: Meter, session: aiohttp.ClientSession) -> None:
        self._upstream = upstream
        self._meter = meter
        self._session = session
        self._bodies = BodyReader(upstream)
        self._quota = MemoryQuota(ANSWERS)
        self._turn_ended = asyncio.Condition()

    async def handle(self, request: AgentRequest) -> None:
        """Answer one request. Raises HungUp."""
        route = self._upstream.api.route(request.head.method, request.head.path)
        if route is Route.FORBIDDEN:
            return await self._refuse(request, 403, NOT_A_MODEL_PATH)
        if route is Route.LOCAL:
            return await request.answer(200, b"", {})
        if not _has_key(request.head, self._upstream.agent_key):
            return await self._refuse(request, 401, NOT_THE_AGENT)
        if route is Route.FORWARD:
            return await self._forward(request)
        try:
            self._meter.require_more()  # before the body is read
            async with contextlib.AsyncExitStack() as held:
                await self._generate(request, held)
        except NothingLeft as refusal:
            await self._refuse(request, 400, str(refusal))
        except Refused as refused:
            await self._refuse(request, refused.status, str(refused))
        except Silent:
            await self._refuse(request, 504, SILENT)
        except BROKEN:
            await self._refuse(request, 502, UNREACHABLE)

    async def _forward(self, request: AgentRequest) -> None:
        """Forward the request and its answer without counting anything."""
        try:
            async with contextlib.AsyncExitStack() as held:
                answer = await self._answer_unread(request, held)
                await self._pass_on(request, answer, _Unread(), held)
        except Refused as refused:
            await self._refuse(request, refused.status, str(refused))
        except BROKEN:
            await self._refuse(request, 502, UNREACHABLE)

    async def _generate(self, request: AgentRequest, held: contextlib.AsyncExitStack) -> None:
        """Forward the request and its answer, and record both in a turn.

        Closing `held` ends the turn and the answer. Raises NothingLeft, Refused, Silent or an error
        of BROKEN.
        """
        answer, turn, silence_timer = await self._answer_of_model(request, held)
        if answer.status >= 300:
            await self._refused(request, answer, turn, held)
            return
        reader = AnswerReader(self._upstream.api, answer.content_type, self._quota)
        turn.answer = reader.answer
        with contextlib.closing(reader):
            await self._pass_on(request, answer, _Metered(reader, turn), held, silence_timer)

    async def _answer_of_model(
        self, request: AgentRequest, held: contextlib.AsyncExitStack
    ) -> "tuple[UpstreamAnswer, Turn, SilenceTimer]":
        """Reserve a turn and send the request. Afterwards nothing here references its body."""
        async with contextlib.AsyncExitStack() as body:
            read = await body.enter_async_context(self._bodies.read(request))
            turn = await held.enter_async_context(self._turn(read.parameters, read.size))
            silence_timer = SilenceTimer(turn, self._upstream.silence_seconds)
            asked = read.written(turn.reserved.limit if turn.reserved else None)
            asking = build_request(self._session, self._upstream, request.head, asked)
            answer = await held.enter_async_context(self._asking(asking, turn, silence_timer))
            _keep_until_sent(answer, body, held)
        return answer, turn, silence_timer

    async def _answer_unread(
        self, request: AgentRequest, held: contextlib.AsyncExitStack
    ) -> UpstreamAnswer:
        """Send a request that costs no turn. Afterwards nothing here references its body."""
        async with contextlib.AsyncExitStack() as body:
            read = await body.enter_async_context(self._bodies.read(request))
            asking = build_request(self._session, self._upstream, request.head, read.written())
            # The session does not limit how long a proxy may be silent.
            async with asyncio.timeout(PATIENCE * self._upstream.silence_seconds):
                answer = await held.enter_async_context(_answering(asking))
            _keep_until_sent(answer, body, held)
        return answer

    @contextlib.asynccontextmanager
    async def _turn(self, parameters: GenerationParameters, size: int) -> AsyncIterator[Turn]:
        """Reserve a turn, if necessary after other turns have ended. Raises NothingLeft."""
        while True:
            async with self._turn_ended:
                turn = self._meter.begin(parameters, size)
                if turn:
                    break
                await self._turn_ended.wait()
        try:
            with turn:
                yield turn
        finally:
            async with self._turn_ended:
                self._turn_ended.notify_all()

    @contextlib.asynccontextmanager
    async def _asking(
        self, asking: Awaitable[aiohttp.ClientResponse], turn: Turn, silence_timer: "SilenceTimer"
    ) -> AsyncIterator[UpstreamAnswer]:
        """Send the request. Sets the turn's fault, and raises Silent or an error of BROKEN."""
        async with contextlib.AsyncExitStack() as held:
            try:
                async with silence_timer.limit():
                    answer = await held.enter_async_context(_answering(asking))
            except asyncio.CancelledError:  # the agent has hung up
                turn.is_abandoned = True
                raise
            except BROKEN as error:
                distrusted = isinstance(error, aiohttp.ClientSSLError)
                turn.fault = ModelFault.UNTRUSTED if distrusted else ModelFault.UNREACHABLE
                raise
            yield answer

    async def _refused(
        self,
        request: AgentRequest,
        answer: aiohttp.ClientResponse,
        turn: Turn,
        held: contextlib.AsyncExitStack,
    ) -> None:
        body = await _read_error(answer.content)
        headers = {name.lower(): value for name, value in answer.headers.items()}
        api, now = self._upstream.api, time.time()
        turn.fault = api.fault_of(answer.status, body)
        if turn.fault is ModelFault.TOO_LONG and answer.status == 429:
            # Some programs would repeat the same request until their time limit.
            await held.aclose()
            await self._refuse(request, 400, body.decode(errors="replace"))
            return
        resets = api.reset_time(headers, body, now)
        wait = 0.0 if resets is None else resets - now
        turn.not_before = resets if wait <= LONGEST_WAIT_SECONDS else None
        withheld = WAITS if is_too_long(wait) else frozenset()
        passed = {
            name: value
            for name, value in returned_headers(self._upstream, answer).items()
            if name.lower() not in withheld
        }
        await held.aclose()
        await request.answer(answer.status, body, passed)

    async def _pass_on(
        self,
        request: AgentRequest,
        answer: aiohttp.ClientResponse,
        reader: "_Metered | _Unread",
        held: contextlib.AsyncExitStack,
        silence_timer: "SilenceTimer | None" = None,
    ) -> None:
        """Write the answer to the agent as it arrives. Handles the failures of both sides."""
        with contextlib.suppress(HungUp):  # what the agent received until then is counted
            await request.start(answer.status, returned_headers(self._upstream, answer))
            while True:
                try:
                    async with silence_timer.limit() if silence_timer else contextlib.nullcontext():
                        piece = await answer.content.readany()
                except (Silent, *BROKEN):
                    reader.broken()
                    return request.break_off()
                if not piece:
                    reader.end()
                    await held.aclose()  # count first, then let the agent see the end
                    return await request.end()
                if not reader.feed(piece):
                    return request.break_off()
                await request.write(piece)

    async def _refuse(self, request: AgentRequest, status: int, message: str) -> None:
        await request.answer(status, self._upstream.api.refusal(message))


def _has_key(head: Head, key: str | None) -> bool:
    """Whether the request has the key, in any of the ways in which programs send one."""
    if key is None:
        return True
    bearer = head.headers.get("authorization", "").removeprefix("Bearer ")
    offered = (bearer, *(head.headers.get(name, "") for name in KEY_HEADERS))
    return any(hmac.compare_digest(item.encode(), key.encode()) for item in offered)


@contextlib.asynccontextmanager
async def _answering(asking: Awaitable[aiohttp.ClientResponse]) -> AsyncIterator[UpstreamAnswer]:
    """Send a request, and provide its answer when its head has arrived. Raises BROKEN errors."""
    answer = cast("UpstreamAnswer", await asking)
    try:
        yield answer
    finally:
        answer.finish()


def _keep_until_sent(
    answer: UpstreamAnswer, body: contextlib.AsyncExitStack, held: contextlib.AsyncExitStack
) -> None:
    """Keep the body until the end of `held`, if the answer came before it was sent completely."""
    if not answer.is_sent:
        held.push_async_exit(body.pop_all())


class SilenceTimer:
    """Limits how long the provider may be silent during one request."""

    def __init__(self, turn: Turn, seconds: float) -> None:
        self._turn = turn
        self._seconds = seconds

    @contextlib.asynccontextmanager
    async def limit(self) -> AsyncIterator[None]:
        """Limit the time of the block, which waits for the provider's next bytes.

        Sets the turn's fault and raises Silent at the limit. Before a streamed answer has begun,
        the limit also applies to the whole wait: bytes that belong to no answer do not extend it.
        """
        turn, loop = self._turn, asyncio.get_running_loop()
        has_begun = turn.answer is not None and turn.answer.began
        seconds = self._seconds * PATIENCE
        if turn.parameters.is_streamed and not has_begun:
            left = turn.asked + seconds - loop.time()
            seconds = min(self._seconds, left)
        waiting = asyncio.timeout(seconds)
        try:
            async with waiting:
                yield
        except TimeoutError:
            if not waiting.expired():
                raise
            if not (turn.answer and turn.answer.ended):
                turn.fault = ModelFault.SILENT
            # An answer that is not streamed may have been in progress all the time.
            turn.is_abandoned = not turn.parameters.is_streamed
            raise Silent from None


class _Metered:
    """Reads an answer for its turn."""

    def __init__(self, reader: AnswerReader, turn: Turn) -> None:
        self._reader = reader
        self._turn = turn
        self.end = reader.end
        self.broken = reader.broken

    def feed(self, data: bytes) -> bool:
        """Read a piece of the body; False if the rest of the answer must not pass."""
        self._reader.feed(data)
        return not self._turn.is_too_much


class _Unread:
    """A reader that counts nothing."""

    def feed(self, _data: bytes) -> bool:
        """Ignore the piece and let it pass."""
        return True

    def end(self) -> None:
        """Do nothing."""

    def broken(self) -> None:
        """Do nothing."""


async def _read_error(content: aiohttp.StreamReader) -> bytes:
    """Read the body of an error; return nothing if it is too long."""
    body = bytearray()
    async for piece in content.iter_any():
        body += piece
        if len(body) > ERROR_LIMIT:
            return b""
    return bytes(body)

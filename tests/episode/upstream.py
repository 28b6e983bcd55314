"""A provider made for one test: it answers as it is told and keeps what it was asked."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

BODY = web.RequestKey("body", bytes)

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass
class Asked:
    """A request as the provider got it; header names are lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Provider:
    """The provider's address, its answer, and what it has been asked."""

    url: str
    answer: Answer
    asked: list[Asked] = field(default_factory=list)


@asynccontextmanager
async def providing(
    answer: Answer, certificate: ssl.SSLContext | None = None
) -> AsyncIterator[Provider]:
    """Serve `answer` on a free port, over TLS with a certificate."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = await request.content.read()  # of any size
        request[BODY] = body
        provider.asked.append(Asked(request.method, request.path_qs, headers, body))
        return await provider.answer(request)

    runner = web.ServerRunner(web.Server(handle), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=certificate)
    await site.start()
    scheme = "https" if certificate else "http"
    provider = Provider(f"{scheme}://127.0.0.1:{runner.addresses[0][1]}", answer)
    try:
        yield provider
    finally:
        await runner.cleanup()


def usage(**counts: int) -> dict[str, int]:
    names = {
        "input": "input_tokens",
        "output": "output_tokens",
        "read": "cache_read_input_tokens",
        "write": "cache_creation_input_tokens",
    }
    return {names[name]: count for name, count in counts.items()}


def events(*, model: str = "claude-x", stop: bool = True) -> list[dict[str, Any]]:
    """A streamed answer: 10 in, 3 read, 4 written; 7 out."""
    start = {"model": model, "usage": usage(input=10, read=3, write=4, output=1)}
    delta = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hi"}}
    whole = [
        {"type": "message_start", "message": start},
        delta,
        {"type": "message_delta", "delta": {}, "usage": usage(output=7)},
        {"type": "message_stop"},
    ]
    return whole if stop else whole[:2]


def server_sent(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def streams(*pieces: dict[str, Any] | bytes, gate: asyncio.Event | None = None) -> Answer:
    """Answer with these events (or bytes); wait for `gate` before the last."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        for number, piece in enumerate(pieces):
            if gate and number == len(pieces) - 1:
                await gate.wait()
            await response.write(piece if isinstance(piece, bytes) else server_sent(piece))
        return response

    return answer


def answers(status: int, body: dict[str, Any] | bytes, **headers: str) -> Answer:
    """Answer with one body; header names are given with underscores."""

    async def answer(_request: web.BaseRequest) -> web.StreamResponse:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named.setdefault("Content-Type", "application/json")
        return web.Response(status=status, body=data, headers=named)

    return answer


def refuses(status: int, kind: str, message: str = "no", **headers: str) -> Answer:
    """Answer with an error as the API writes it."""
    error = {"type": "error", "error": {"type": kind, "message": message}}
    return answers(status, error, **headers)


def breaks(*pieces: dict[str, Any]) -> Answer:
    """Write these events and break the connection."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        response.enable_chunked_encoding()
        if pieces:
            await response.prepare(request)
        for piece in pieces:
            await response.write(server_sent(piece))
        assert request.transport
        request.transport.abort()
        return response

    return answer

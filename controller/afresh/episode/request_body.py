"""Reads the agent's requests where the gateway may not pass them on unread: a model is enforced.

Owns the bounds on the memory that bodies take. Without a model to enforce, they are streams.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web

from afresh.episode.upstream_request import Body, with_model

BODY_LIMIT = 16 << 20
# Parsed JSON takes up to thirty times its length: one large body at a time, and a few small ones.
SMALL = 256 << 10
SMALL_AT_ONCE = 32
TOO_LARGE = "The request is too large."
NOT_PLAIN = "The request must not have a Content-Encoding."
NOT_JSON = "The request is not a JSON object."


class Refused(Exception):  # noqa: N818  # an answer to the agent
    """The request does not pass. The argument is a sentence, `status` the answer's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class BodyDesk:
    """Turns requests into what is sent to the provider."""

    def __init__(self, model: str | None) -> None:
        self._model = model
        self._large = asyncio.Semaphore(1)
        self._small = asyncio.Semaphore(SMALL_AT_ONCE)

    @contextlib.asynccontextmanager
    async def body_of(self, request: web.BaseRequest) -> AsyncIterator[Body]:
        """Give the body to send, whose memory is free when the block ends. Raises Refused."""
        if not request.can_read_body:
            yield None
            return
        if self._model is None:
            yield request.content
            return
        length = request.content_length
        if length is not None and length > BODY_LIMIT:
            raise Refused(413, TOO_LARGE)
        if request.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise Refused(400, NOT_PLAIN)
        is_small = length is not None and length <= SMALL
        async with self._small if is_small else self._large:
            yield await _enforced(request, self._model)


async def _enforced(request: web.BaseRequest, model: str) -> bytes:
    whole = await read_whole(request.content, BODY_LIMIT)
    if whole is None:
        raise Refused(413, TOO_LARGE)
    body = with_model(whole, model)
    if body is None:
        raise Refused(400, NOT_JSON)
    return body


async def read_whole(content: aiohttp.StreamReader, limit: int) -> bytes | None:
    """Read a whole body; None if it is longer than `limit`."""
    body = bytearray()
    async for piece in content.iter_any():
        body += piece
        if len(body) > limit:
            return None
    return bytes(body)

"""Reads the agent's requests where the gateway may not pass them on unread: a model is enforced.

Owns the bounds on the memory that bodies take. Without a model to enforce, they are streams.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web

from afresh.episode.model_api import ModelApi
from afresh.episode.upstream_request import Asked

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

    def __init__(self, api: ModelApi, model: str | None) -> None:
        self._api = api
        self._model = model
        self._large = asyncio.Semaphore(1)
        self._small = asyncio.Semaphore(SMALL_AT_ONCE)

    @contextlib.asynccontextmanager
    async def asked_by(self, request: web.BaseRequest) -> AsyncIterator[Asked]:
        """Give what to send; its body's memory is free when the block ends. Raises Refused."""
        path = request.rel_url.raw_path
        if self._model is None:
            yield Asked(path, request.content if request.can_read_body else None)
            return
        if not request.can_read_body:
            yield Asked(self._api.with_model(path, {}, self._model))
            return
        length = request.content_length
        if length is not None and length > BODY_LIMIT:
            raise Refused(413, TOO_LARGE)
        if request.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise Refused(400, NOT_PLAIN)
        is_small = length is not None and length <= SMALL
        async with self._small if is_small else self._large:
            whole = await read_whole(request.content, BODY_LIMIT)
            if whole is None:
                raise Refused(413, TOO_LARGE)
            yield self._enforced(path, whole, self._model)

    def _enforced(self, path: str, body: bytes, model: str) -> Asked:
        """Write the body anew: of two keys of one name, two readers may believe different ones."""
        try:
            asked = json.loads(body)
            if not isinstance(asked, dict):
                raise Refused(400, NOT_JSON)
            path = self._api.with_model(path, asked, model)
            return Asked(path, json.dumps(asked, allow_nan=False).encode())
        except (ValueError, RecursionError) as error:
            raise Refused(400, NOT_JSON) from error


async def read_whole(content: aiohttp.StreamReader, limit: int) -> bytes | None:
    """Read a whole body; None if it is longer than `limit`."""
    body = bytearray()
    async for piece in content.iter_any():
        body += piece
        if len(body) > limit:
            return None
    return bytes(body)

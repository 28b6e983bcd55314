"""Reads the agent's requests where the gateway may not pass them on unread.

A model is enforced, or the API would not tell usage. Owns the bounds on the memory that bodies
take; all others are streams.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
from aiohttp import web

from afresh.episode.gateway.model_api import ModelApi
from afresh.episode.gateway.upstream_request import Asked

BODY_LIMIT = 16 << 20
# Bodies are kept until their answers begin. Only one at a time is parsed, which takes up to thirty
# times its length.
SMALL = 256 << 10
SMALL_AT_ONCE = 64
LARGE_AT_ONCE = 4
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
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        self._small = asyncio.Semaphore(SMALL_AT_ONCE)

    @contextlib.asynccontextmanager
    async def asked_by(self, request: web.BaseRequest) -> AsyncIterator[Asked]:
        """Give what to send; its body's memory is free when the block ends. Raises Refused."""
        path = request.rel_url.raw_path
        if self._model is None and not self._api.reads_requests:
            yield Asked(path, request.content if request.can_read_body else None)
            return
        if not request.can_read_body:
            yield Asked(self._changed(path, {}))
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
            yield self._written_anew(path, whole)

    def _changed(self, path: str, asked: dict[str, Any]) -> str:
        self._api.make_metered(path, asked)
        return path if self._model is None else self._api.with_model(path, asked, self._model)

    def _written_anew(self, path: str, body: bytes) -> Asked:
        """Write the body anew: of two keys of one name, two readers may believe different ones."""
        try:
            asked = json.loads(body)
            if not isinstance(asked, dict):
                raise Refused(400, NOT_JSON)
            return Asked(self._changed(path, asked), json.dumps(asked, allow_nan=False).encode())
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

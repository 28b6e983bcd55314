"""Reads the bodies of the agent's requests, and writes anew those that may not pass as they are.

A model is enforced, or the API would not tell usage. Owns how many bodies are in memory at once:
they are kept until their answers begin.
"""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator
from typing import Any

from afresh.episode.gateway.agent_request import TOO_LARGE, Request
from afresh.episode.gateway.bounds import (
    BODY_LIMIT,
    LARGE_AT_ONCE,
    SMALL,
    SMALL_AT_ONCE,
    VALUES,
)
from afresh.episode.gateway.model_api import ModelApi
from afresh.episode.gateway.request_head import Refused
from afresh.episode.gateway.upstream_request import Asked

_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_MARKS = (b",", b"[", b"{")
NOT_JSON = "The request is not a JSON object."


class BodyDesk:
    """Turns requests into what is sent to the provider."""

    def __init__(self, api: ModelApi, model: str | None) -> None:
        self._api = api
        self._model = model
        self._rewrites = model is not None or api.reads_requests
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        self._small = asyncio.Semaphore(SMALL_AT_ONCE)

    @contextlib.asynccontextmanager
    async def asked_by(self, request: Request) -> AsyncIterator[Asked]:
        """Give what to send; its body's memory is free when the block ends. Raises Refused."""
        path, length = request.head.path, request.head.length
        if length == 0:
            yield self._without_body(request)
            return
        if length is not None and length > BODY_LIMIT:
            raise Refused(413, TOO_LARGE)
        is_small = length is not None and length <= SMALL
        async with self._small if is_small else self._large:
            yield self._with_body(path, await request.body(BODY_LIMIT))

    def _without_body(self, request: Request) -> Asked:
        path = request.head.path
        body = None if request.head.method == "GET" else b""
        return Asked(self._changed(path, {}) if self._rewrites else path, body)

    def _with_body(self, path: str, body: bytes) -> Asked:
        return self._written_anew(path, body) if self._rewrites else Asked(path, body)

    def _changed(self, path: str, asked: dict[str, Any]) -> str:
        self._api.make_metered(path, asked)
        return path if self._model is None else self._api.with_model(path, asked, self._model)

    def _written_anew(self, path: str, body: bytes) -> Asked:
        """Write the body anew: of two keys of one name, two readers may believe different ones."""
        if _has_too_many_values(body):
            raise Refused(413, TOO_LARGE)
        try:
            asked = json.loads(body)
            if not isinstance(asked, dict):
                raise Refused(400, NOT_JSON)
            path, written = self._changed(path, asked), _written(asked)
        except (ValueError, RecursionError) as error:
            raise Refused(400, NOT_JSON) from error
        if len(written) > BODY_LIMIT:
            raise Refused(413, TOO_LARGE)
        return Asked(path, written)


def _written(asked: dict[str, Any]) -> bytes:
    """Write it without making it longer than it was, as far as anybody writes."""
    try:
        return json.dumps(
            asked, allow_nan=False, ensure_ascii=False, separators=(",", ":")
        ).encode()
    except UnicodeEncodeError:  # half a surrogate pair has no other form
        return json.dumps(asked, allow_nan=False).encode()


def _has_too_many_values(body: bytes) -> bool:
    """Count what begins a value. What stands in texts is left out only where that matters."""
    if sum(map(body.count, _MARKS)) <= VALUES:
        return False
    outside = _TEXT.sub(b"", body)
    return sum(map(outside.count, _MARKS)) > VALUES

"""Reads the bodies of the agent's requests, and rewrites them for the provider.

Owns how many bodies are in memory at once, each until its answer begins, and what no request may
contain.
"""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator
from typing import Any

from afresh.contract.text import one_line, shortened
from afresh.episode.gateway.agent_request import TOO_LARGE, AgentRequest
from afresh.episode.gateway.bounds import (
    BODY_LIMIT,
    LARGE_AT_ONCE,
    SMALL,
    SMALL_AT_ONCE,
    VALUES,
)
from afresh.episode.gateway.model_api import Upstream
from afresh.episode.gateway.request_head import Refused
from afresh.episode.gateway.request_reading import GenerationParameters
from afresh.episode.gateway.upstream_request import OutgoingRequest

_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_MARKS = (b",", b"[", b"{")
NOT_JSON = "The request is not a JSON object."
# With these fields, a proxy that offers one of the APIs sends another request than the one that is
# read here: with other limits, to another model or address, or with another key.
FOR_PROXIES = (
    "api_base",
    "api_key",
    "base_url",
    "content_policy_fallbacks",
    "context_window_fallback_dict",
    "context_window_fallbacks",
    "custom_llm_provider",
    "extra_body",
    "extra_headers",
    "extra_query",
    "fallbacks",
    "model_list",
    "preset",
    "user_config",
)

REACHES_OUT = "The model's provider must not use other services for this work; do not use {name}."
NAME_LENGTH = 100


class RequestRead:
    """One request of the agent in the form that the provider may receive, and its parameters.

    `size` is that of its body in bytes. The body is kept as bytes: parsed, it takes many times as
    much memory.
    """

    def __init__(
        self, upstream: Upstream, asked: OutgoingRequest, parameters: GenerationParameters
    ) -> None:
        self._upstream = upstream
        self._asked = asked
        self.parameters = parameters
        self.size = len(asked.body or b"")

    def written(self, output_tokens: int | None = None) -> OutgoingRequest:
        """Return the request to send; each of its answers has at most `output_tokens` tokens."""
        asked, parameters = self._asked, self.parameters
        is_right = parameters.is_plain and output_tokens == parameters.output_tokens
        if output_tokens is None or is_right or not asked.body:
            return asked
        body = json.loads(asked.body)
        self._upstream.api.requests.limit_output(asked.path, body, parameters, output_tokens)
        return OutgoingRequest(asked.path, _written(body))


class BodyReader:
    """Reads requests and prepares them to be sent to the provider."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        self._small = asyncio.Semaphore(SMALL_AT_ONCE)

    @contextlib.asynccontextmanager
    async def read(self, request: AgentRequest) -> AsyncIterator[RequestRead]:
        """Provide the request; the memory of its body is free after the block. Raises Refused."""
        path, length = request.head.path, request.head.length
        if length == 0:
            body = None if request.head.method == "GET" else b""
            asked = OutgoingRequest(self._changed(path, {}).path, body)
            yield RequestRead(self._upstream, asked, GenerationParameters())
            return
        if length is not None and length > BODY_LIMIT:
            raise Refused(413, TOO_LARGE)
        is_small = length is not None and length <= SMALL
        async with self._small if is_small else self._large:
            yield self._parsed(path, await request.body(BODY_LIMIT))

    def _parsed(self, path: str, body: bytes) -> RequestRead:
        """Parse and rewrite the body: readers differ about which of two equal keys counts."""
        if _has_too_many_values(body):
            raise Refused(413, TOO_LARGE)
        try:
            asked = json.loads(body.decode())  # values are counted in UTF-8 only
            if not isinstance(asked, dict):
                raise Refused(400, NOT_JSON)
            self._keep_inside(asked)
            changed = self._changed(path, asked)
            parameters = self._upstream.api.requests.parameters(changed.path, asked)
        except (ValueError, RecursionError) as error:
            raise Refused(400, NOT_JSON) from error
        if len(changed.body or b"") > BODY_LIMIT:
            raise Refused(413, TOO_LARGE)
        return RequestRead(self._upstream, changed, parameters)

    def _changed(self, path: str, asked: dict[str, Any]) -> OutgoingRequest:
        api, model = self._upstream.api, self._upstream.model
        for name in FOR_PROXIES:
            asked.pop(name, None)
        api.make_metered(path, asked)
        if model is not None:
            path = api.with_model(path, asked, model)
        return OutgoingRequest(path, _written(asked))

    def _keep_inside(self, asked: dict[str, Any]) -> None:
        """Refuse a request that makes the provider use other services.

        That would bypass the pod's network policy.
        """
        if self._upstream.allows_server_tools:
            return
        name = next(self._upstream.api.requests.outside(asked), None)
        if name is not None:
            named = shortened(one_line(name), NAME_LENGTH)
            raise Refused(400, REACHES_OUT.format(name=named))


def _written(asked: dict[str, Any]) -> bytes:
    """Return the compact JSON, which is normally not longer than the original."""
    try:
        return json.dumps(
            asked, allow_nan=False, ensure_ascii=False, separators=(",", ":")
        ).encode()
    except UnicodeEncodeError:  # half a surrogate pair has no UTF-8 form
        return json.dumps(asked, allow_nan=False).encode()


def _has_too_many_values(body: bytes) -> bool:
    """Count characters that begin a value; those in strings are left out only if it matters."""
    if sum(map(body.count, _MARKS)) <= VALUES:
        return False
    outside = _TEXT.sub(b"", body)
    return sum(map(outside.count, _MARKS)) > VALUES

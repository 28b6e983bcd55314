"""Reads the bodies of the agent's requests, and writes anew what of them goes to the provider.

Owns how many bodies are in memory at once, which are kept until their answers begin, and what no
request may ask for.
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
from afresh.episode.gateway.request_reading import Wish
from afresh.episode.gateway.upstream_request import Asked

_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_MARKS = (b",", b"[", b"{")
NOT_JSON = "The request is not a JSON object."
# By these a proxy that speaks one of the APIs is told to send another request than the one that is
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

REACHES_OUT = "The model's provider may reach nothing outside for this work; do without {name}."
NAME_LENGTH = 100


class RequestRead:
    """One request of the agent as the provider may get it, and what it asks for.

    `size` is that of its body in bytes. It is kept as such: parsed, it takes many times as much.
    """

    def __init__(self, upstream: Upstream, asked: Asked, wish: Wish) -> None:
        self._upstream = upstream
        self._asked = asked
        self.wish = wish
        self.size = len(asked.body or b"")

    def written(self, output_tokens: int | None = None) -> Asked:
        """Return what goes to the provider; each of its answers takes at most so many tokens."""
        asked, wish = self._asked, self.wish
        is_right = wish.is_plain and output_tokens == wish.output_tokens
        if output_tokens is None or is_right or not asked.body:
            return asked
        body = json.loads(asked.body)
        self._upstream.api.requests.limit_output(asked.path, body, wish, output_tokens)
        return Asked(asked.path, _written(body))


class BodyReader:
    """Turns requests into what is sent to the provider."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)
        self._small = asyncio.Semaphore(SMALL_AT_ONCE)

    @contextlib.asynccontextmanager
    async def read(self, request: AgentRequest) -> AsyncIterator[RequestRead]:
        """Give the request; its body's memory is free when the block ends. Raises Refused."""
        path, length = request.head.path, request.head.length
        if length == 0:
            body = None if request.head.method == "GET" else b""
            asked = Asked(self._changed(path, {}).path, body)
            yield RequestRead(self._upstream, asked, Wish())
            return
        if length is not None and length > BODY_LIMIT:
            raise Refused(413, TOO_LARGE)
        is_small = length is not None and length <= SMALL
        async with self._small if is_small else self._large:
            yield self._parsed(path, await request.body(BODY_LIMIT))

    def _parsed(self, path: str, body: bytes) -> RequestRead:
        """Write the body anew: of two keys of one name, two readers may believe different ones."""
        if _has_too_many_values(body):
            raise Refused(413, TOO_LARGE)
        try:
            asked = json.loads(body.decode())  # of other encodings the values are not counted
            if not isinstance(asked, dict):
                raise Refused(400, NOT_JSON)
            self._keep_inside(asked)
            changed = self._changed(path, asked)
            wish = self._upstream.api.requests.wish(changed.path, asked)
        except (ValueError, RecursionError) as error:
            raise Refused(400, NOT_JSON) from error
        if len(changed.body or b"") > BODY_LIMIT:
            raise Refused(413, TOO_LARGE)
        return RequestRead(self._upstream, changed, wish)

    def _changed(self, path: str, asked: dict[str, Any]) -> Asked:
        api, model = self._upstream.api, self._upstream.model
        for name in FOR_PROXIES:
            asked.pop(name, None)
        api.make_metered(path, asked)
        if model is not None:
            path = api.with_model(path, asked, model)
        return Asked(path, _written(asked))

    def _keep_inside(self, asked: dict[str, Any]) -> None:
        """Refuse what has the provider reach out: a way past what shuts the pod in."""
        if self._upstream.allows_server_tools:
            return
        name = next(self._upstream.api.requests.outside(asked), None)
        if name is not None:
            named = shortened(one_line(name), NAME_LENGTH)
            raise Refused(400, REACHES_OUT.format(name=named))


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

"""Agents that go away before they have paid: at each point of an answer, and many at once.

The provider of these tests keeps what it has produced. What the gateway counts is never less.
"""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from afresh.contract.order import Budget
from tests.episode.eager_upstreams import end
from tests.episode.gateway_client import MESSAGES, PRICE, Talk, talking
from tests.episode.upstream import BODY, server_sent, usage

LIMIT = 4000
INPUT = 40
ASKED = {"model": "claude-x", "max_tokens": LIMIT, "stream": True, "system": "x" * 200}
# Where the agent hangs up: so many events later than the request.
POINTS = ["before the headers", "headers", "message_start", "thinking", "text", "message_delta"]


@dataclass
class Spender:
    """A model that thinks as much as it may before it says anything, and counts what it did."""

    stop_at: str = ""
    output: int = 0
    input: int = 0
    asked: int = 0
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        limit = json.loads(request[BODY])["max_tokens"]
        self.asked += 1
        self.input += INPUT
        self.output += limit  # it is done before the agent knows
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        response.enable_chunked_encoding()
        if self.stop_at == "before the headers":
            return await self._stay(request, response)
        await response.prepare(request)
        if self.stop_at == "headers":
            return await self._stay(request, response)
        for name, event in self._events(limit).items():
            await response.write(server_sent(event))
            if name == self.stop_at:
                return await self._stay(request, response)
        return response

    def _events(self, limit: int) -> dict[str, dict[str, Any]]:
        start = {"model": "claude-x", "usage": usage(input=INPUT, output=1)}
        block = {"type": "content_block_delta"}
        return {
            "message_start": {"type": "message_start", "message": start},
            "thinking": {**block, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
            "text": {**block, "delta": {"type": "text_delta", "text": "Hi."}},
            "message_delta": {
                "type": "message_delta", "delta": {"stop_reason": "end_turn"},
                "usage": usage(output=limit),
            },
            "message_stop": {"type": "message_stop"},
        }  # fmt: skip

    async def _stay(
        self, request: web.BaseRequest, response: web.StreamResponse
    ) -> web.StreamResponse:
        self.arrived.set()
        while request.transport and not request.transport.is_closing():
            await asyncio.sleep(0.01)
        self.gone.set()
        return response


async def hang_up(talk: Talk, *, half: bool = False) -> None:
    """Send a request and go away once the provider has come to where it stays."""
    host, _, port = talk.gateway.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    body = json.dumps(ASKED).encode()
    head = f"POST {MESSAGES} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    spender = talk.provider.answer
    assert isinstance(spender, Spender)
    await asyncio.wait_for(spender.arrived.wait(), 10)
    if half:
        writer.write_eof()
        with suppress(OSError):
            await asyncio.wait_for(reader.read(), 60)
    else:
        assert writer.transport
        writer.transport.abort()
    await asyncio.wait_for(spender.gone.wait(), 10)
    await end(writer)


@pytest.mark.parametrize("half", [False, True], ids=["closed", "half-closed"])
@pytest.mark.parametrize("point", POINTS)
async def test_agent_that_hangs_up_pays_what_its_request_may_have_used(point: str, half: bool):
    spender = Spender(stop_at=point)
    async with talking(spender, prices=(PRICE,), budget=Budget(max_tokens=90_000)) as talk:
        await hang_up(talk, half=half)

        has_answered = talk.gateway.meter.has_answered

    assert spender.asked == 1
    assert talk.usage.turns == 1
    assert not has_answered
    assert talk.usage.output_tokens >= spender.output
    assert talk.usage.input_tokens >= spender.input
    assert float(talk.usage.cost_usd or 0) >= (spender.output * 15 + spender.input * 3) / 1e6


async def test_answer_that_is_whole_costs_what_it_tells_and_no_more():
    spender = Spender()
    async with talking(spender, budget=Budget(max_tokens=90_000)) as talk:
        await talk.ask(ASKED)
        assert talk.gateway.meter.has_answered

    assert talk.usage.output_tokens == LIMIT
    assert talk.usage.input_tokens == INPUT


@pytest.mark.parametrize(
    "budget",
    [
        pytest.param(Budget(max_tokens=20_000), id="tokens"),
        pytest.param(Budget(max_cost_usd="0.2"), id="US dollars"),
    ],
)
@pytest.mark.parametrize("point", ["before the headers", "message_start", "text"])
async def test_thirty_requests_at_once_that_hang_up_get_no_more_than_the_budget(
    point: str, budget: Budget
):
    spender = Spender(stop_at=point)
    async with talking(spender, max_turns=99, prices=(PRICE,), budget=budget) as talk:

        async def attack() -> None:
            timeout = aiohttp.ClientTimeout(total=0.5)
            with suppress(aiohttp.ClientError, TimeoutError):
                async with talk.client.post(MESSAGES, json=ASKED, timeout=timeout) as answer:
                    await answer.content.readline()

        await asyncio.gather(*(attack() for _ in range(30)))
        await asyncio.gather(*(attack() for _ in range(5)))

    produced = spender.output + spender.input
    counted = talk.usage.output_tokens + talk.usage.input_tokens
    assert spender.asked
    assert produced <= counted
    if budget.max_tokens:
        assert produced <= budget.max_tokens
    else:
        assert spender.output * 15 + spender.input * 3 <= 200_000


async def test_what_is_under_way_is_told_before_it_is_sent():
    updates: list[tuple[int, int]] = []
    spender = Spender(stop_at="before the headers")
    async with talking(spender, budget=Budget(max_tokens=90_000)) as talk:
        meter = talk.gateway.meter

        def record_usage() -> None:
            updates.append((meter.usage().turns, meter.usage().output_tokens))

        meter.on_use = record_usage
        await hang_up(talk)

    assert updates == [(0, LIMIT), (1, LIMIT)]

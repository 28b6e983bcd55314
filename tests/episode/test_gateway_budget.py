"""What the gateway refuses, lowers and cuts off where an episode has a budget."""

import asyncio
import contextlib
import json
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from afresh.contract.order import Budget
from tests.episode.gateway_client import MESSAGES, PRICE, Talk, talking
from tests.episode.upstream import answers, events, server_sent, streams, usage

# What a body of this test tells the model at most, and its dollars: 20 x 3.75 millionths.
SMALL = 20
ASKED = {"model": "claude-x", "max_tokens": 2000}


def whole(**counts: int) -> Any:
    """Not a stream, whose parts may be over the budget before it ends."""
    return answers(200, {"type": "message", "model": "claude-x", "usage": usage(**counts)})


def asked_of(talk: Talk) -> list[dict[str, Any]]:
    return [json.loads(asked.body) for asked in talk.provider.asked]


@pytest.mark.parametrize(
    ("budget", "want"),
    [
        # Of all four kinds: 1000 + 700 + 300 + 400.
        pytest.param(Budget(max_tokens=2400 + 1023), "maxTokens", id="tokens"),
        pytest.param(Budget(max_cost_usd="0.0300"), "maxCostUSD", id="US dollars"),
        pytest.param(
            Budget(max_tokens=10**9, max_cost_usd="0.0300"), "maxCostUSD", id="the smaller of both"
        ),
    ],
)
async def test_budget_that_is_used_up_lets_no_other_request_pass_and_is_told_before_the_turn_limit(
    budget: Budget, want: str
):
    answer = whole(input=1000, read=300, write=400, output=700)
    async with talking(answer, prices=(PRICE,), budget=budget, max_turns=1) as talk:
        first, _ = await talk.ask(ASKED)
        if want == "maxCostUSD":
            talk.gateway.meter.begin_subtask()  # what is left pays for no short answer
        status, body = await talk.ask(ASKED)

    assert (first, status) == (200, 400)
    assert json.loads(body)["error"]["message"] == "The budget of this work is used up."
    assert len(talk.provider.asked) == 1
    assert talk.gateway.meter.refused_by == want
    assert not talk.gateway.meter.limit_reached


async def test_request_gets_all_that_it_asks_for_where_the_budget_allows_it():
    async with talking(whole(input=10, output=7), budget=Budget(max_tokens=90_000)) as talk:
        await talk.ask(ASKED)

    assert asked_of(talk) == [ASKED]


async def test_request_is_not_touched_without_a_budget():
    odd = {"model": "claude-x", "thinking": {"type": "enabled", "budget_tokens": 9}, "n": 5}
    async with talking(whole(input=10, output=7)) as talk:
        await talk.ask(odd)

    assert asked_of(talk) == [odd]


@pytest.mark.parametrize(
    ("budget", "want"),
    [
        pytest.param(Budget(max_tokens=1500), range(1500 - SMALL, 1500), id="tokens"),
        # At 15 dollars per million.
        pytest.param(Budget(max_cost_usd="0.0225"), range(1500 - SMALL, 1500), id="US dollars"),
    ],
)
async def test_answer_of_a_request_is_limited_to_what_is_left(budget: Budget, want: range):
    async with talking(whole(input=1, output=1), prices=(PRICE,), budget=budget) as talk:
        await talk.ask(ASKED)

    (asked,) = asked_of(talk)
    assert asked["max_tokens"] in want


async def test_thinking_stays_smaller_than_the_limit_of_its_answer():
    thinking = {"type": "enabled", "budget_tokens": 8000}
    async with talking(whole(input=1, output=1), budget=Budget(max_tokens=4000)) as talk:
        await talk.ask({**ASKED, "max_tokens": 9000, "thinking": thinking})

    (asked,) = asked_of(talk)
    assert 1024 <= asked["thinking"]["budget_tokens"] < asked["max_tokens"] <= 4000


async def test_request_for_a_few_tokens_passes_near_the_end_of_the_budget():
    async with talking(whole(input=1, output=1), budget=Budget(max_tokens=1024)) as talk:
        status, _ = await talk.ask({"model": "claude-x", "max_tokens": 1})

    assert status == 200


@pytest.mark.parametrize("price", ["0.0153", "0.0000001"])
async def test_request_is_refused_where_the_money_pays_for_no_short_answer(price: str):
    budget = Budget(max_cost_usd=price)
    async with talking(whole(input=1, output=1), prices=(PRICE,), budget=budget) as talk:
        status, _ = await talk.ask({**ASKED, "system": "x" * 400})

    assert status == 400
    assert talk.provider.asked == []
    assert talk.gateway.meter.refused_by == "maxCostUSD"


async def test_answer_whose_beginning_is_over_the_budget_is_cut_off_and_counted():
    gate = asyncio.Event()
    start = {"model": "claude-x", "usage": usage(input=9000, output=1)}
    stream = ({"type": "message_start", "message": start}, *events()[1:])
    async with talking(streams(*stream, gate=gate), budget=Budget(max_tokens=8000)) as talk:
        with pytest.raises(aiohttp.ClientError):
            await talk.ask(ASKED)
        gate.set()

    assert talk.gateway.meter.refused_by
    assert (talk.usage.turns, talk.usage.input_tokens) == (1, 9000)


async def test_last_words_of_an_answer_pass_although_they_use_up_more_than_the_budget():
    start, delta, end, stop = events()
    end = end | {"delta": {"stop_reason": "end_turn"}, "usage": usage(output=9000)}
    gate = asyncio.Event()
    pieces = streams(start, delta, end, stop, gate=gate)
    async with (
        talking(pieces, budget=Budget(max_tokens=5000)) as talk,
        talk.client.post(MESSAGES, json=ASKED) as answer,
    ):
        await answer.content.readuntil(server_sent(end))
        gate.set()
        rest = await answer.content.read()

    assert rest == server_sent(stop)
    assert talk.gateway.meter.refused_by is None
    assert talk.gateway.meter.used_up


async def test_model_without_a_price_is_cut_off_and_refused_where_the_budget_is_money():
    budget, gate = Budget(max_cost_usd="5"), asyncio.Event()
    answer = streams(*events(model="other-2"), gate=gate)
    async with talking(answer, prices=(PRICE,), budget=budget) as talk:
        with pytest.raises(aiohttp.ClientError):
            await talk.ask(ASKED)
        gate.set()
        status, body = await talk.ask(ASKED)

    assert status == 400
    assert "has no price" in json.loads(body)["error"]["message"]
    assert talk.gateway.meter.unpriced_model == "other-2"
    assert len(talk.provider.asked) == 1


async def test_model_without_a_price_passes_where_the_budget_is_tokens():
    async with talking(streams(*events(model="other")), budget=Budget(max_tokens=9999)) as talk:
        status, _ = await talk.ask(ASKED)

    assert status == 200
    assert talk.gateway.meter.unpriced_model is None


async def test_requests_at_once_go_one_by_one_where_the_budget_may_not_be_enough_for_two():
    running, most, several = 0, 0, asyncio.Event()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running > 1:
            several.set()
        with contextlib.suppress(TimeoutError):  # time enough for another one to arrive
            await asyncio.wait_for(several.wait(), 0.2)
        running -= 1
        return await whole(input=500, output=500)(request)

    async with talking(answer, budget=Budget(max_tokens=3900)) as talk:
        results = await asyncio.gather(*(talk.ask(ASKED) for _ in range(4)))

    assert sorted(status for status, _ in results) == [200, 200, 200, 400]
    assert most == 1


async def test_requests_at_once_pass_where_the_budget_is_enough_for_all():
    both, gate = asyncio.Barrier(2), asyncio.Event()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.wait_for(both.wait(), 60)
        gate.set()
        return await whole(input=500, output=500)(request)

    async with talking(answer, budget=Budget(max_tokens=4100)) as talk:
        results = await asyncio.gather(talk.ask(ASKED), talk.ask(ASKED))

    assert [status for status, _ in results] == [200, 200]

"""What the gateway refuses and cuts off where an episode has a budget."""

import asyncio
import contextlib
import json

import aiohttp
import pytest
from aiohttp import web

from afresh.contract.order import Budget
from tests.episode.gateway_client import MESSAGES, PRICE, talking
from tests.episode.upstream import answers, events, server_sent, streams, usage

# Not a stream, whose parts may be over the budget before it ends.
WHOLE = answers(
    200,
    {
        "type": "message",
        "model": "claude-x",
        "usage": usage(input=10, read=3, write=4, output=7),
    },
)


@pytest.mark.parametrize(
    ("budget", "want"),
    [
        # Of all four kinds: 10 + 7 + 3 + 4.
        pytest.param(Budget(max_tokens=24), "maxTokens", id="tokens"),
        pytest.param(Budget(max_cost_usd="0.0001509"), "maxCostUSD", id="US dollars"),
        pytest.param(
            Budget(max_tokens=10**9, max_cost_usd="0.0001"), "maxCostUSD", id="the smaller of both"
        ),
    ],
)
async def test_budget_that_is_used_up_lets_no_other_request_pass_and_is_told_before_the_turn_limit(
    budget: Budget, want: str
):
    async with talking(WHOLE, prices=(PRICE,), budget=budget, max_turns=1) as talk:
        first, _ = await talk.ask()
        status, body = await talk.ask()

    assert (first, status) == (200, 400)
    assert json.loads(body)["error"]["message"] == "The budget of this work is used up."
    assert len(talk.provider.asked) == 1
    assert talk.gateway.meter.refused_by == want
    assert not talk.gateway.meter.limit_reached


async def test_budget_that_is_not_used_up_lets_the_next_request_pass():
    async with talking(WHOLE, budget=Budget(max_tokens=25)) as talk:
        await talk.ask()
        status, _ = await talk.ask()

    assert status == 200
    assert talk.gateway.meter.used_up
    assert talk.gateway.meter.refused_by is None


async def test_answer_whose_beginning_is_over_the_budget_is_cut_off_and_counted():
    gate = asyncio.Event()
    async with talking(streams(*events(), gate=gate), budget=Budget(max_tokens=17)) as talk:
        with pytest.raises(aiohttp.ClientError):
            await talk.ask()
        gate.set()

    assert talk.gateway.meter.refused_by
    assert (talk.usage.turns, talk.usage.input_tokens) == (1, 10)


async def test_answers_under_way_at_once_are_held_against_the_budget_together():
    first_gate, second_gate = asyncio.Event(), asyncio.Event()
    async with talking(streams(*events(), gate=first_gate), budget=Budget(max_tokens=30)) as talk:
        async with talk.client.post(MESSAGES, json={}) as answer:
            await answer.content.readuntil(b"\n\n")
            talk.provider.answer = streams(*events(), gate=second_gate)
            with pytest.raises(aiohttp.ClientError):
                await talk.ask()
            first_gate.set()
            rest = await answer.content.read()
        second_gate.set()

    assert rest.endswith(server_sent(events()[-1]))
    assert talk.gateway.meter.refused_by


async def test_last_words_of_an_answer_pass_although_they_use_up_more_than_the_budget():
    start, delta, end, stop = events()
    end = end | {"delta": {"stop_reason": "end_turn"}}
    gate = asyncio.Event()
    pieces = streams(start, delta, end, stop, gate=gate)
    async with (
        talking(pieces, budget=Budget(max_tokens=20)) as talk,
        talk.client.post(MESSAGES, json={}) as answer,
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
            await talk.ask()
        gate.set()
        status, body = await talk.ask()

    assert status == 400
    assert "has no price" in json.loads(body)["error"]["message"]
    assert talk.gateway.meter.unpriced_model == "other-2"
    assert len(talk.provider.asked) == 1


async def test_model_without_a_price_passes_where_the_budget_is_tokens():
    async with talking(streams(*events(model="other")), budget=Budget(max_tokens=99)) as talk:
        status, _ = await talk.ask()

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
        return await WHOLE(request)

    async with talking(WHOLE, budget=Budget(max_tokens=70)) as talk:
        await talk.ask()
        talk.provider.answer = answer
        told = await asyncio.gather(talk.ask(), talk.ask(), talk.ask())

    assert sorted(status for status, _ in told) == [200, 200, 400]
    assert most == 1
    assert len(talk.provider.asked) == 3

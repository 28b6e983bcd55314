"""A model that takes a request and says nothing, and one that stops in its middle."""

import asyncio
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from afresh.contract.order import Budget
from afresh.episode.gateway.model_api import ModelFault
from tests.episode.gateway_client import MESSAGES, talking
from tests.episode.upstream import Answer, events, server_sent, streams

SHORT = 0.2
STREAM = {"model": "claude-x", "max_tokens": 2000, "stream": True}
WHOLE = {**STREAM, "stream": False}


def stops_after(*pieces: bytes, prepares: bool = True) -> Answer:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        response.enable_chunked_encoding()
        if prepares:
            await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
        while request.transport and not request.transport.is_closing():
            await asyncio.sleep(0.01)
        return response

    return answer


async def sends_signs_of_life(request: web.BaseRequest) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    while request.transport and not request.transport.is_closing():
        await response.write(b": still here\n\n")
        await asyncio.sleep(SHORT / 4)
    return response


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(stops_after(prepares=False), id="nothing at all"),
        pytest.param(stops_after(), id="headers alone"),
        pytest.param(sends_signs_of_life, id="signs of life alone"),
    ],
)
async def test_model_that_never_answers_is_given_up_and_costs_nothing(answer: Answer):
    budget = Budget(max_tokens=90_000)
    async with talking(answer, silence=SHORT, budget=budget) as talk:
        try:
            status, _ = await talk.ask(STREAM)
        except aiohttp.ClientError:  # the answer had headers
            status = 504
        talk.provider.answer = streams(*events())
        refused, _ = await talk.ask(STREAM)

    assert (status, refused) == (504, 400)
    assert talk.gateway.meter.last_fault is ModelFault.SILENT
    assert len(talk.provider.asked) == 1
    assert (talk.usage.turns, talk.usage.output_tokens) == (0, 0)


async def test_answer_that_stops_in_its_middle_is_a_fault_and_costs_what_it_may_have_used():
    answer = stops_after(*map(server_sent, events()[:2]))
    async with talking(answer, silence=SHORT, budget=Budget(max_tokens=90_000)) as talk:
        with pytest.raises(aiohttp.ClientError):
            await talk.ask(STREAM)

    assert talk.gateway.meter.last_fault is ModelFault.SILENT
    assert (talk.usage.input_tokens, talk.usage.output_tokens) == (10, 2000)


async def test_answer_in_one_piece_that_never_comes_costs_what_it_may_have_used():
    budget = Budget(max_tokens=90_000)
    async with talking(stops_after(prepares=False), silence=SHORT, budget=budget) as talk:
        status, _ = await talk.ask(WHOLE)

    assert status == 504
    assert talk.gateway.meter.last_fault is ModelFault.SILENT
    assert (talk.usage.turns, talk.usage.output_tokens) == (0, 2000)


async def test_agent_that_is_slow_itself_makes_no_silent_model():
    gate = asyncio.Event()
    body = b'{"model": "claude-x", "stream": true}'

    async def slowly() -> Any:
        yield body[:9]
        await asyncio.sleep(3 * SHORT)  # longer than the model might take
        gate.set()
        yield body[9:]

    async with (
        talking(streams(*events()), silence=SHORT) as talk,
        talk.client.post(MESSAGES, data=slowly()) as answer,
    ):
        assert answer.status == 200
        await answer.read()

    assert gate.is_set()
    assert talk.gateway.meter.last_fault is None


async def test_agent_that_does_not_read_makes_no_silent_model():
    long = {"type": "content_block_delta", "delta": {"text": "x" * 60_000}}
    answer = streams(events()[0], *[long] * 200, *events()[1:])
    async with (
        talking(answer, silence=SHORT) as talk,
        talk.client.post(MESSAGES, json=STREAM) as reply,
    ):
        await reply.content.readline()
        await asyncio.sleep(4 * SHORT)  # longer than a model that has begun may take
        await reply.read()

    assert talk.gateway.meter.last_fault is None
    assert talk.usage.output_tokens == 7

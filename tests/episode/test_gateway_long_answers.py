"""Answers of the model that are too long to be read: they pass, and are counted by their bytes."""

import asyncio
import json

import pytest
from aiohttp import web

from afresh.contract.order import Budget
from afresh.episode.gateway.answer_reader import (
    EVENT_LIMIT,
    MESSAGE_LIMIT,
    AnswerReader,
    MemoryQuota,
)
from tests.episode.gateway_client import talking_to
from tests.episode.test_gateway_openai import (
    API,
    CHAT,
    CHAT_USED,
    COMPLETION,
    DONE,
    PRICE,
    RESPONSES,
    USED,
    chunk,
    events,
    response,
)
from tests.episode.upstream import Answer, answers, server_sent, streams

ASKED = {"model": "gpt-x"}
# What the 18 bytes of that are expected to tell the model.
INPUT = 4
LONG_MESSAGE = json.dumps({**COMPLETION, "logprobs": "y" * MESSAGE_LIMIT}).encode()
LONG_EVENT = server_sent(
    {
        "type": "response.completed",
        "response": response("completed", usage=USED, output="y" * EVENT_LIMIT),
    }
)
LONG_CHUNK = chunk(choices=[{"index": 0, "delta": {"content": "y" * EVENT_LIMIT}}])


@pytest.mark.parametrize(
    ("path", "answer", "size"),
    [
        pytest.param(CHAT, answers(200, LONG_MESSAGE), len(LONG_MESSAGE), id="a message"),
        pytest.param(
            RESPONSES,
            streams(*events()[:2], LONG_EVENT),
            len(LONG_EVENT.partition(b"data:")[2]),
            id="the last event of a stream",
        ),
    ],
)
async def test_answer_that_is_too_long_to_be_read_is_a_turn_and_uses_what_its_bytes_stand_for(
    path: str, answer: Answer, size: int
):
    budget = Budget(max_cost_usd="1")
    async with talking_to(API, answer, model="gpt-x", prices=(PRICE,), budget=budget) as talk:
        status, body = await talk.ask(ASKED, path)
        refused, _ = await talk.ask(ASKED, path)

    assert (status, refused) == (200, 400)
    assert size <= len(body)
    assert talk.usage.turns == 1
    assert talk.usage.input_tokens == INPUT
    assert talk.usage.output_tokens == pytest.approx(size / 4, abs=4)
    assert talk.usage.cost_usd is not None
    assert talk.gateway.meter.last_fault is None


async def test_answer_for_which_there_is_no_room_is_counted_by_its_bytes_until_there_is_some():
    message = json.dumps(COMPLETION).encode()
    quota = MemoryQuota(2 * len(message) - 1)
    readers = [AnswerReader(API, "application/json", quota) for _ in range(3)]
    for reader in readers[:2]:
        reader.feed(message)
    for reader in readers[:2]:
        reader.end()
        reader.close()
    readers[2].feed(message)
    readers[2].end()

    assert [reader.answer.unread for reader in readers] == [0, len(message), 0]
    assert [bool(reader.answer.tokens.output) for reader in readers] == [True, False, True]


async def test_event_for_which_there_is_no_room_is_counted_by_its_bytes():
    event = server_sent({"type": "response.completed", "response": response("x", usage=USED)})
    reader = AnswerReader(API, "text/event-stream", MemoryQuota(20))
    reader.feed(event[:60])
    reader.feed(event[60:])

    assert reader.answer.unread == len(event.partition(b"data:")[2]) + 3


async def test_count_that_comes_after_an_event_that_is_too_long_to_be_read_holds():
    stream = streams(chunk(choices=[]), LONG_CHUNK, chunk(usage=CHAT_USED), DONE)
    async with talking_to(API, stream) as talk:
        await talk.ask(ASKED, CHAT)

    assert (talk.usage.turns, talk.usage.output_tokens) == (1, 7)
    assert talk.gateway.meter.last_fault is None


async def test_long_answer_that_the_agent_does_not_read_to_its_end_is_counted_as_far_as_it_came():
    ended = asyncio.Event()

    async def stall(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        await response.write(LONG_MESSAGE)
        while request.transport and not request.transport.is_closing():
            await asyncio.sleep(0.01)
        ended.set()
        return response

    async with talking_to(API, stall) as talk:
        async with talk.client.post(CHAT, json=ASKED) as answer:
            await answer.content.readexactly(len(LONG_MESSAGE))
            answer.close()
        await asyncio.wait_for(ended.wait(), 60)

    assert talk.usage.turns == 1
    assert talk.usage.output_tokens == len(LONG_MESSAGE) // 4

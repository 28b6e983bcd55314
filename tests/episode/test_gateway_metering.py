"""What the gateway counts, what it limits, and what it remembers of failures."""

import asyncio
import json
import socket
import time

import aiohttp
import pytest
from aiohttp import web

from afresh.contract.order import Budget
from afresh.contract.report import Report, Usage, fit
from afresh.episode.gateway.model_api import ModelFault
from tests.episode.gateway_client import MESSAGES, PRICE, make_gateway, talking
from tests.episode.upstream import (
    answers,
    events,
    refuses,
    server_sent,
    streams,
    usage,
)


async def test_streamed_answer_passes_unchanged_and_is_counted_and_priced():
    async with talking(streams(*events()), prices=(PRICE,)) as talk:
        status, body = await talk.ask()

    assert (status, body) == (200, b"".join(map(server_sent, events())))
    # 10 x 3 + 7 x 15 + 3 x 0.30 + 4 x 3.75 = 150.9 millionths
    assert talk.usage == Usage(
        turns=1, input_tokens=10, output_tokens=7, cache_read_tokens=3, cache_write_tokens=4,
        cost_usd="0.0001509",
    )  # fmt: skip
    assert talk.gateway.meter.last_fault is None


async def test_last_event_without_an_end_of_line_is_counted():
    pieces = [*events()[:2], b"".join(map(server_sent, events()[2:])).rstrip(b"\n")]
    async with talking(streams(*pieces)) as talk:
        await talk.ask()

    assert talk.usage.output_tokens == 7
    assert talk.gateway.meter.last_fault is None


@pytest.mark.parametrize("count", [10**30, int("9" * 4299)], ids=["64 bits", "4299 digits"])
async def test_count_that_no_answer_can_have_fits_into_a_report_and_into_64_bits(count: int):
    message = {"type": "message", "model": "claude-x"}
    used = usage(input=count, output=count, read=count, write=count)
    async with talking(answers(200, {**message, "usage": used}), prices=(PRICE,)) as talk:
        for _ in range(3):
            await talk.ask()

    assert talk.usage.turns == 3
    assert 0 < talk.usage.output_tokens < 2**63
    assert fit(Report(episode="e", stage="agent", usage=talk.usage))


async def test_negative_count_is_none_and_what_was_set_aside_is_paid():
    message = {"type": "message", "model": "claude-x", "usage": usage(input=-9, output=-9)}
    budget = Budget(max_tokens=90_000)
    async with talking(answers(200, message), budget=budget) as talk:
        await talk.ask({"model": "claude-x", "max_tokens": 2000})

    assert talk.usage.output_tokens == 2000


async def test_answer_in_one_message_is_counted():
    message = {"type": "message", "model": "claude-x", "usage": usage(input=5, output=6)}
    async with talking(answers(200, message)) as talk:
        status, body = await talk.ask()

    assert (status, json.loads(body)) == (200, message)
    assert talk.usage == Usage(turns=1, input_tokens=5, output_tokens=6)


async def test_cost_is_unknown_as_soon_as_one_model_has_no_price():
    async with talking(streams(*events(model="other")), prices=(PRICE,)) as talk:
        await talk.ask()
        talk.provider.answer = streams(*events())
        await talk.ask()

    assert talk.usage.cost_usd is None
    assert talk.usage.input_tokens == 20


async def test_events_cut_anywhere_and_very_long_ones_are_counted_alike():
    long = {"type": "content_block_delta", "delta": {"text": "x" * 3_000_000}}
    whole = b"".join(map(server_sent, [events()[0], long, *events()[1:]]))
    pieces = [whole[i : i + 7] for i in range(0, 700, 7)] + [whole[700:]]
    async with talking(streams(*pieces)) as talk:
        _, body = await talk.ask()

    assert body == whole
    assert talk.usage.output_tokens == 7


async def test_success_after_a_fault_forgets_the_fault_and_its_reset_time():
    async with talking(streams(*events())) as talk:
        await talk.ask()
        talk.provider.answer = refuses(429, "rate_limit_error", Retry_After="5")
        before = time.time()
        await talk.ask()
        after = time.time()
        found = talk.gateway.meter.not_before
        talk.provider.answer = streams(*events())
        await talk.ask()

    assert found is not None
    assert before + 5 <= found <= after + 5
    assert talk.gateway.meter.last_fault is None
    assert talk.gateway.meter.not_before is None


async def test_turn_limit_holds_for_requests_at_once_and_is_told_in_the_apis_form():
    gate = asyncio.Event()
    async with talking(streams(*events(), gate=gate), max_turns=2) as talk:
        first, second = (asyncio.create_task(talk.ask()) for _ in range(2))
        while len(talk.provider.asked) < 2:
            await asyncio.sleep(0)
        status, body = await talk.ask()
        gate.set()
        assert [(await first)[0], (await second)[0]] == [200, 200]

    assert status == 400
    assert json.loads(body)["error"] == {
        "type": "invalid_request_error",
        "message": "The turn limit of this task is reached.",
    }
    assert len(talk.provider.asked) == 2
    assert talk.gateway.meter.limit_reached
    assert talk.usage.turns == 2


async def test_request_that_the_provider_refused_uses_up_no_turn():
    async with talking(streams(*events()), max_turns=2) as talk:
        await talk.ask()
        talk.provider.answer = refuses(529, "overloaded_error")
        await talk.ask()
        talk.provider.answer = streams(*events())
        status, _ = await talk.ask()

    assert status == 200
    assert not talk.gateway.meter.limit_reached


async def test_closing_cuts_off_what_is_under_way_counts_it_and_stops_listening():
    gate = asyncio.Event()
    async with talking(streams(*events(), gate=gate)) as talk:
        async with talk.client.post(MESSAGES, json={}) as answer:
            await answer.content.readuntil(b"\n\n")
            await talk.close()
            with pytest.raises(aiohttp.ClientError):
                await answer.read()
        with pytest.raises(aiohttp.ClientConnectorError):
            await talk.ask()
        gate.set()

    assert talk.usage.input_tokens == 10
    assert talk.gateway.meter.last_fault is None


async def test_agent_that_hangs_up_ends_the_request_to_the_provider_uses_a_turn_and_is_no_fault():
    arrived, ended = asyncio.Event(), asyncio.Event()

    async def hang(request: web.BaseRequest) -> web.StreamResponse:
        arrived.set()
        while request.transport and not request.transport.is_closing():
            await asyncio.sleep(0.01)
        ended.set()
        return web.Response()

    async with talking(hang) as talk:
        asking = asyncio.create_task(talk.ask())
        await asyncio.wait_for(arrived.wait(), 60)
        asking.cancel()
        await asyncio.wait_for(ended.wait(), 60)

    assert talk.gateway.meter.last_fault is None
    assert talk.usage == Usage(turns=1)


async def test_provider_that_cannot_be_reached_is_told_to_the_agent_and_kept():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        gateway = make_gateway(f"http://127.0.0.1:{unused.getsockname()[1]}")
        gateway.open()
        async with (
            aiohttp.ClientSession(gateway.url) as client,
            client.post(MESSAGES, json={}) as answer,
        ):
            assert answer.status == 502
            assert "cannot be reached" in (await answer.json())["error"]["message"]
        await asyncio.to_thread(gateway.close)

    assert gateway.meter.last_fault is ModelFault.UNREACHABLE


async def test_next_subtask_has_all_its_turns_and_the_episode_keeps_its_sum():
    async with talking(streams(*events()), prices=(PRICE,), max_turns=1) as talk:
        meter = talk.gateway.meter
        await talk.ask()
        await talk.ask()
        limit_reached = meter.limit_reached
        first = meter.subtask_usage()
        meter.begin_subtask()
        status, _ = await talk.ask()

    assert (limit_reached, status) == (True, 200)
    assert (first.turns, first.cost_usd) == (1, "0.0001509")
    assert meter.subtask_usage() == first
    assert (talk.usage.turns, talk.usage.cost_usd) == (2, "0.0003018")
    assert not meter.limit_reached


async def test_first_answer_is_told_once():
    turns_seen: list[int] = []
    async with talking(refuses(400, "invalid_request_error")) as talk:
        talk.gateway.meter.on_first_answer = lambda: turns_seen.append(talk.usage.turns)
        await talk.ask()
        talk.provider.answer = streams(*events())
        await talk.ask()
        await talk.ask()

    assert turns_seen == [1]


@pytest.mark.parametrize("status", [429, 529])
async def test_a_busy_provider_is_asked_once_until_it_has_ever_answered(status: int):
    async with talking(refuses(status, "rate_limit_error")) as talk:
        await talk.ask()
        talk.provider.answer = streams(*events())

        refused, _ = await talk.ask()

    assert refused == 400
    assert len(talk.provider.asked) == 1
    assert talk.gateway.meter.last_fault in (ModelFault.RATE_LIMITED, ModelFault.UNAVAILABLE)


async def test_a_provider_that_has_answered_before_is_asked_again():
    async with talking(streams(*events())) as talk:
        await talk.ask()
        talk.provider.answer = refuses(429, "rate_limit_error")
        await talk.ask()
        talk.provider.answer = streams(*events())

        status, _ = await talk.ask()

    assert status == 200

"""Why requests to an OpenAI API fail, as the gateway tells, and when it says to come back."""

import asyncio
import contextlib
import json
from typing import Any

import aiohttp
import pytest

from afresh.episode.gateway.model_api import ModelFault
from afresh.episode.gateway.providers.openai import CHAT, RESPONSES, OpenAiApi
from tests.episode.gateway_client import talking_to
from tests.episode.upstream import Answer, answers, breaks, streams

API = OpenAiApi()
NOW = 1_800_000_000.0
# A limit by the minute that one request is beyond: it is refused whenever it is asked.
LARGE = "Request too large for gpt on tokens per min (TPM): Limit 30000, Requested 36278."
CREATED = {"type": "response.created", "response": {"model": "gpt-x", "usage": None}}


def refuses(status: int, code: Any = None, message: str = "no", kind: str = "x") -> Answer:
    error = {"message": message, "type": kind, "param": None, "code": code}
    return answers(status, {"error": error})


def ends(kind: str, **fields: Any) -> Answer:
    """Stream a response that ends so."""
    return streams(CREATED, {"type": f"response.{kind}", "response": fields})


def fails(code: str, message: str = "no") -> Answer:
    return ends("failed", error={"code": code, "message": message})


def says(error: dict[str, Any]) -> Answer:
    """Stream a line as the chat API writes it."""
    return streams(f"data: {json.dumps({'error': error})}\n\n".encode())


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        pytest.param(refuses(401, "invalid_api_key"), ModelFault.KEY_REFUSED, id="401"),
        pytest.param(refuses(403), ModelFault.KEY_REFUSED, id="403"),
        pytest.param(
            refuses(403, "model_not_found"), ModelFault.NOT_THERE, id="403 for this model"
        ),
        pytest.param(refuses(402), ModelFault.NO_CREDIT, id="402"),
        pytest.param(refuses(429, "rate_limit_exceeded"), ModelFault.RATE_LIMITED, id="429"),
        pytest.param(
            refuses(429, "rate_limit_exceeded", LARGE),
            ModelFault.TOO_LONG,
            id="429, too much at once",
        ),
        pytest.param(answers(429, b"<html>"), ModelFault.RATE_LIMITED, id="429 of a proxy"),
        pytest.param(refuses(429, "insufficient_quota"), ModelFault.NO_CREDIT, id="429, no credit"),
        pytest.param(
            refuses(429, None, kind="insufficient_quota"),
            ModelFault.NO_CREDIT,
            id="429, by its type",
        ),
        pytest.param(
            refuses(429, None, "You exceeded your current quota, please check your plan"),
            ModelFault.NO_CREDIT,
            id="429, no credit by its words",
        ),
        pytest.param(
            refuses(400, "context_length_exceeded"), ModelFault.TOO_LONG, id="400, too long"
        ),
        pytest.param(
            refuses(400, 400, "This endpoint's maximum context length is 131072 tokens."),
            ModelFault.TOO_LONG,
            id="400, too long by its words",
        ),
        pytest.param(
            refuses(400, "billing_hard_limit_reached"), ModelFault.NO_CREDIT, id="400, billing"
        ),
        pytest.param(refuses(400, "unknown_parameter"), ModelFault.REJECTED, id="400, own mistake"),
        pytest.param(
            answers(400, b'{"error": ' + b"[" * 5000), ModelFault.REJECTED, id="400, too deep"
        ),
        pytest.param(answers(400, b'{"error": "no"}'), ModelFault.REJECTED, id="400, a bare text"),
        pytest.param(refuses(404, "model_not_found"), ModelFault.NOT_THERE, id="404"),
        pytest.param(answers(302, b"", Location="/login"), ModelFault.NOT_THERE, id="302"),
        pytest.param(refuses(413), ModelFault.TOO_LONG, id="413"),
        pytest.param(refuses(500, "server_error"), ModelFault.UNAVAILABLE, id="500"),
        pytest.param(answers(503, b"<html>"), ModelFault.UNAVAILABLE, id="503 of a proxy"),
        pytest.param(refuses(529), ModelFault.UNAVAILABLE, id="529"),
        pytest.param(streams(), ModelFault.EMPTY, id="an empty stream"),
        pytest.param(answers(200, b""), ModelFault.EMPTY, id="an empty body"),
        pytest.param(answers(200, {"choices": []}), ModelFault.EMPTY, id="no choice"),
        pytest.param(streams(CREATED), ModelFault.UNREACHABLE, id="a stream that stops"),
        pytest.param(breaks(CREATED), ModelFault.UNREACHABLE, id="a connection that breaks"),
        pytest.param(fails("context_length_exceeded"), ModelFault.TOO_LONG, id="failed, too long"),
        pytest.param(fails("insufficient_quota"), ModelFault.NO_CREDIT, id="failed, no credit"),
        pytest.param(
            fails("rate_limit_exceeded"), ModelFault.RATE_LIMITED, id="failed, a rate limit"
        ),
        pytest.param(
            fails("rate_limit_exceeded", LARGE), ModelFault.TOO_LONG, id="failed, too much at once"
        ),
        pytest.param(
            fails("server_is_overloaded"), ModelFault.UNAVAILABLE, id="failed, overloaded"
        ),
        pytest.param(fails("server_error"), ModelFault.UNAVAILABLE, id="failed, an error"),
        pytest.param(fails("invalid_prompt"), ModelFault.REJECTED, id="failed, own mistake"),
        pytest.param(
            fails("x", "Your input exceeds the context window of this model."),
            ModelFault.TOO_LONG,
            id="failed, too long by its words",
        ),
        pytest.param(
            ends("incomplete", incomplete_details={"reason": "model_context_window_exceeded"}),
            ModelFault.TOO_LONG,
            id="incomplete, the context is full",
        ),
        pytest.param(
            streams({"type": "error", "code": "rate_limit_exceeded", "message": "no"}),
            ModelFault.RATE_LIMITED,
            id="an error as an event",
        ),
        pytest.param(
            streams({"type": "error", "error": {"type": "server_error", "code": None}}),
            ModelFault.UNAVAILABLE,
            id="an error in an event",
        ),
        pytest.param(
            answers(
                200, {"object": "response", "status": "failed", "error": {"code": "slow_down"}}
            ),
            ModelFault.UNAVAILABLE,
            id="a whole response that failed",
        ),
        pytest.param(
            answers(200, {"error": {"code": 502, "message": "no"}}),
            ModelFault.UNAVAILABLE,
            id="200 with an error in it",
        ),
        pytest.param(
            says({"code": 502, "message": "no"}), ModelFault.UNAVAILABLE, id="chat, a status"
        ),
        pytest.param(
            says({"code": 429}), ModelFault.RATE_LIMITED, id="chat, a status with a meaning"
        ),
        pytest.param(says({"message": "no"}), ModelFault.REJECTED, id="chat, no code"),
    ],
)
async def test_failure_is_told_by_code_status_or_words(answer: Answer, want: ModelFault):
    async with talking_to(API, answer) as talk:
        with contextlib.suppress(aiohttp.ClientError):  # some connections break, as they should
            async with talk.client.post(RESPONSES, json={}, allow_redirects=False) as got:
                await got.read()

    assert talk.gateway.meter.last_fault is want


async def test_response_that_was_refused_before_it_used_anything_is_no_turn():
    async with talking_to(API, fails("rate_limit_exceeded")) as talk:
        await talk.ask(path=RESPONSES)

    assert talk.usage.turns == 0


async def test_chat_whose_stream_breaks_off_with_an_error_is_a_turn_and_its_fault_is_told():
    began = {"model": "gpt-x", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}
    broke = {"error": {"code": "server_error"}}
    lines = [f"data: {json.dumps(part)}\n\n".encode() for part in (began, broke)]
    async with talking_to(API, streams(*lines)) as talk:
        await talk.ask({"stream": True}, CHAT)

    assert talk.usage.turns == 1
    assert talk.gateway.meter.last_fault is ModelFault.UNAVAILABLE


async def test_request_that_no_wait_makes_small_enough_is_refused_as_one_that_is_not_repeated():
    async with talking_to(API, refuses(429, "rate_limit_exceeded", LARGE)) as talk:
        status, body = await talk.ask(path=CHAT)

    assert (status, "Request too large" in body.decode()) == (400, True)


async def test_agent_that_does_not_wait_for_the_count_has_used_what_it_asked():
    part = {"model": "gpt-x", "choices": [{"delta": {"content": "Hi"}}]}
    gate, chunk = asyncio.Event(), f"data: {json.dumps(part)}\n\n".encode()
    async with talking_to(API, streams(chunk, chunk, gate=gate)) as talk:
        async with talk.client.post(CHAT, json={"messages": "x" * 4000}) as got:
            await got.content.readuntil(chunk)
            got.close()
        await talk.close()
        gate.set()

    assert 1000 <= talk.usage.input_tokens <= 1010


@pytest.mark.parametrize(
    ("headers", "want"),
    [
        ({"retry-after": "20"}, NOW + 20),
        ({"retry-after-ms": "1500", "retry-after": "2"}, NOW + 1.5),
        ({"retry-after": "Fri, 15 Jan 2027 08:01:00 GMT"}, NOW + 60),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s"}, NOW + 1),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, NOW + 360),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "20ms"}, NOW + 0.02),
        (
            {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1d2h3m4.5s"},
            NOW + 86400 + 7200 + 180 + 4.5,
        ),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "8.64s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "12",
            },
            NOW + 12,
        ),
        ({"x-ratelimit-remaining-requests": "5", "x-ratelimit-reset-requests": "1s"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s x"}, None),
        ({"retry-after": "later"}, None),
        ({}, None),
    ],
)
def test_end_of_a_limit_is_read_from_the_headers(headers: dict[str, str], want: float | None):
    assert API.reset_time(headers, b"", NOW) == pytest.approx(want)

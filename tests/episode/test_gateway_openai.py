"""What passes through the gateway where the provider's API is OpenAI's, and what it counts."""

import asyncio
import json
from typing import Any

import pytest

from afresh.contract.order import Budget, Price
from afresh.contract.report import Usage
from afresh.episode.gateway.model_api import ModelFault
from afresh.episode.gateway.providers.openai import CHAT, RESPONSES, OpenAiApi
from afresh.episode.model_access import _root
from tests.episode.gateway_client import KEY, talking_to
from tests.episode.upstream import Answer, answers, streams

API = OpenAiApi()
PRICE = Price(
    model="gpt-*",
    input_usd_per_million="3",
    output_usd_per_million="15",
    cache_read_usd_per_million="0.30",
    cache_write_usd_per_million="3.75",
)
DONE = b"data: [DONE]\n\n"
USED = {
    "input_tokens": 17,
    "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 4},
    "output_tokens": 7,
}
CHAT_USED = {
    "prompt_tokens": 17,
    "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 4},
    "completion_tokens": 7,
}
WANT = Usage(
    turns=1, input_tokens=10, output_tokens=7, cache_read_tokens=3, cache_write_tokens=4,
    cost_usd="0.0001509",
)  # fmt: skip


def response(status: str, **fields: Any) -> dict[str, Any]:
    return {"object": "response", "model": "gpt-x", "status": status, "usage": None, **fields}


def events(last: str = "completed", **fields: Any) -> list[dict[str, Any]]:
    """A streamed response."""
    return [
        {"type": "response.created", "response": response("in_progress")},
        {"type": "response.output_text.delta", "delta": "Hi"},
        {"type": f"response.{last}", "response": response(last, **{"usage": USED} | fields)},
    ]


def chunk(**fields: Any) -> bytes:
    whole = {"object": "chat.completion.chunk", "model": "gpt-x", "choices": [], **fields}
    return f"data: {json.dumps(whole)}\n\n".encode()


def choice(finish: str | None = None, **delta: Any) -> list[dict[str, Any]]:
    return [{"index": 0, "delta": delta, "finish_reason": finish}]


CHUNKS = (
    chunk(choices=choice(role="assistant", content="Hi")),
    chunk(choices=choice("stop")),
    chunk(usage=CHAT_USED),
    DONE,
)
COMPLETION = {
    "object": "chat.completion",
    "model": "gpt-x",
    "choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}],
    "usage": CHAT_USED,
}


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        pytest.param(RESPONSES, streams(*events()), id="a streamed response"),
        pytest.param(RESPONSES, answers(200, response("completed", usage=USED)), id="a response"),
        pytest.param(
            RESPONSES,
            streams(*events("incomplete", incomplete_details={"reason": "max_output_tokens"})),
            id="a response that is cut at its limit",
        ),
        pytest.param(CHAT, streams(*CHUNKS), id="a streamed completion"),
        pytest.param(CHAT, streams(*CHUNKS[:3]), id="a stream of a service that writes no [DONE]"),
        pytest.param(CHAT, answers(200, COMPLETION), id="a completion"),
    ],
)
async def test_answer_is_counted_and_priced_with_cached_tokens_apart(path: str, answer: Answer):
    async with talking_to(API, answer, prices=(PRICE,)) as talk:
        status, _ = await talk.ask({"model": "gpt-x"}, path)

    assert status == 200
    assert talk.usage == WANT
    assert talk.gateway.meter.last_fault is None


async def test_numbers_that_make_no_sense_count_nothing_twice():
    odd = {
        "input_tokens": 5,
        "input_tokens_details": {"cached_tokens": 9, "cache_write_tokens": -1},
        "output_tokens": "many",
    }
    async with talking_to(API, streams(*events(usage=odd))) as talk:
        await talk.ask(path=RESPONSES)

    assert talk.usage == Usage(turns=1, cache_read_tokens=5)


async def test_stream_passes_unchanged_and_before_its_end():
    gate = asyncio.Event()
    async with (
        talking_to(API, streams(*CHUNKS, gate=gate)) as talk,
        talk.client.post(CHAT, json={"stream": True}) as got,
    ):
        first = await asyncio.wait_for(got.content.readuntil(b"\n\n"), 60)
        gate.set()
        rest = await got.content.read()

    assert first + rest == b"".join(CHUNKS)


@pytest.mark.parametrize(
    ("path", "model", "asked", "want"),
    [
        pytest.param(
            RESPONSES,
            "gpt-x",
            {"model": "gpt-big", "stream": True},
            {"model": "gpt-x", "stream": True},
            id="the model of the class",
        ),
        pytest.param(
            CHAT,
            "gpt-x",
            {"model": "gpt-big", "stream": True},
            {"model": "gpt-x", "stream": True, "stream_options": {"include_usage": True}},
            id="the model of the class, and a stream that tells its usage",
        ),
        pytest.param(
            CHAT,
            None,
            {"model": "gpt-y", "stream": True},
            {"model": "gpt-y", "stream": True, "stream_options": {"include_usage": True}},
            id="a stream that tells its usage, with the agent's own model",
        ),
        pytest.param(
            CHAT,
            None,
            {"stream": True, "stream_options": {"include_usage": False, "x": 1}},
            {"stream": True, "stream_options": {"include_usage": True, "x": 1}},
            id="a stream that was not to tell its usage",
        ),
        pytest.param(
            CHAT,
            None,
            {"stream": True, "stream_options": "odd"},
            {"stream": True, "stream_options": {"include_usage": True}},
            id="options that are none",
        ),
        pytest.param(CHAT, None, {"model": "m"}, {"model": "m"}, id="no stream"),
        pytest.param(
            RESPONSES,
            None,
            {"model": "m", "background": True},
            {"model": "m"},
            id="no response that goes on when nobody counts",
        ),
    ],
)
async def test_request_reaches_the_provider_so_that_its_answer_is_counted(
    path: str, model: str | None, asked: dict[str, object], want: dict[str, object]
):
    async with talking_to(API, answers(200, COMPLETION), model=model) as talk:
        await talk.ask(asked, path)

    assert json.loads(talk.provider.asked[0].body) == want


@pytest.mark.parametrize("model", [None, "gpt-x"], ids=["any model", "the model of the class"])
async def test_request_that_is_no_json_is_refused_in_the_apis_own_form(model: str | None):
    async with (
        talking_to(API, streams(*events()), model=model) as talk,
        talk.client.post(CHAT, data=b"{stream: 1}") as got,
    ):
        body = await got.json()

        assert (got.status, talk.provider.asked) == (400, [])
    assert body["error"]["message"] == "The request is not a JSON object."
    assert body["error"]["type"] == "invalid_request_error"


async def test_provider_gets_the_real_key_and_none_of_the_agents():
    headers = {
        "Authorization": "Bearer placeholder",
        "api-key": "placeholder",
        "x-api-key": "placeholder",
        "Cookie": "a=placeholder",
        "OpenAI-Beta": "responses=v1",
    }
    async with talking_to(API, streams(*events())) as talk:
        async with talk.client.post(f"{RESPONSES}?x=1&limit=2", json={}, headers=headers) as got:
            await got.read()
        (asked,) = talk.provider.asked

    assert asked.path == f"{RESPONSES}?limit=2"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["openai-beta"] == "responses=v1"
    assert "placeholder" not in str(asked.headers)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/batches"),
        ("POST", "/v1/files"),
        ("POST", "/v1/embeddings"),
        ("POST", "/v1/images/generations"),
        ("POST", "/v1/completions"),
        ("POST", "/v1/responses/compact"),
        ("GET", "/v1/responses"),
        ("GET", "/v1/responses/resp_1"),
        ("POST", "/v1/responses/resp_1/cancel"),
        ("POST", "/v1/chat/completions/x"),
        ("DELETE", "/v1/models/gpt-x"),
        ("GET", "/v1/models/%2e%2e/files"),
        ("POST", "/responses"),
        ("GET", "/"),
    ],
)
async def test_anything_but_model_paths_is_forbidden_and_never_forwarded(method: str, path: str):
    async with (
        talking_to(API, answers(200, b"{}")) as talk,
        talk.client.request(method, path) as got,
    ):
        assert got.status == 403
        assert talk.provider.asked == []


@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/gpt-x", "/v1/models?limit=5"])
async def test_listing_models_passes_and_is_no_turn(path: str):
    async with (
        talking_to(API, answers(200, {"object": "list"}), model="gpt-x") as talk,
        talk.client.get(path) as got,
    ):
        assert await got.json() == {"object": "list"}
        assert talk.provider.asked[0].path == path
        assert talk.usage == Usage()


async def test_connection_that_breaks_after_the_last_word_is_a_whole_answer():
    async with talking_to(API, streams(*CHUNKS[:2])) as talk:
        await talk.ask(path=CHAT)

    assert talk.usage.turns == 1
    assert talk.gateway.meter.last_fault is None


async def test_chunk_that_comes_before_the_answer_says_nothing_of_its_model():
    filtered = chunk(model="", prompt_filter_results=[{"prompt_index": 0}])
    budget = Budget(max_cost_usd="5")
    async with talking_to(API, streams(filtered, *CHUNKS), prices=(PRICE,), budget=budget) as talk:
        await talk.ask(path=CHAT)

    assert talk.gateway.meter.unpriced_model is None
    assert talk.usage == WANT


async def test_stream_without_a_last_word_is_none():
    async with talking_to(API, streams(CHUNKS[0])) as talk:
        await talk.ask(path=CHAT)

    assert talk.gateway.meter.last_fault is ModelFault.UNREACHABLE


@pytest.mark.parametrize(
    ("endpoint", "want"),
    [
        ("https://api.openai.com", "https://api.openai.com"),
        ("https://api.openai.com/v1", "https://api.openai.com"),
        ("https://api.openai.com/v1/", "https://api.openai.com"),
        ("https://openrouter.example/api/v1", "https://openrouter.example/api"),
        ("https://x.example/v1beta/openai", "https://x.example/v1beta/openai"),
    ],
)
def test_endpoint_may_be_given_with_the_version_that_the_paths_begin_with(endpoint: str, want: str):
    assert _root(endpoint) == want

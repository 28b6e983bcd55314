"""The model of the class is what the provider is asked for, whatever the agent asks for."""

import asyncio
import gzip
import io
import json
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web

from afresh.episode.gateway.bounds import BODY_LIMIT, LARGE_AT_ONCE, SMALL, VALUES
from tests.episode.gateway_client import MESSAGES, talking
from tests.episode.upstream import events, streams

Chunks = Callable[[], AsyncIterator[bytes]]


def chunks(*pieces: bytes) -> Chunks:
    """A body that does not say how long it is."""

    async def give() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    return give


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"model": "claude-big", "stream": True}, id="another model"),
        pytest.param({"stream": True}, id="no model"),
        pytest.param({"model": "claude-x"}, id="the same model"),
    ],
)
async def test_model_of_the_class_is_what_the_provider_is_asked_for(asked: dict[str, object]):
    async with talking(streams(*events()), model="claude-x") as talk:
        await talk.ask(asked)

    assert json.loads(talk.provider.asked[0].body) == asked | {"model": "claude-x"}


@pytest.mark.parametrize(
    ("body", "headers", "want"),
    [
        pytest.param(b"{model: 1}", {}, 400, id="not JSON"),
        pytest.param(b'["model"]', {}, 400, id="not an object"),
        pytest.param(b'{"a": NaN}', {}, 400, id="not JSON for everybody"),
        pytest.param(b'{"a":' * 100_000, {}, 400, id="nested too deeply"),
        pytest.param(b'{"a":[' + b"[]," * VALUES + b"1]}", {}, 413, id="of too many values"),
        pytest.param(gzip.compress(b"{}"), {"Content-Encoding": "gzip"}, 400, id="compressed"),
        pytest.param(b" " * BODY_LIMIT + b"{}", {}, 413, id="too large"),
        pytest.param(chunks(b" " * BODY_LIMIT, b"{}"), {}, 413, id="too large, not said before"),
    ],
)
@pytest.mark.parametrize("path", [MESSAGES, f"{MESSAGES}/count_tokens"])
async def test_request_whose_model_cannot_be_enforced_is_refused_and_uses_up_no_turn(
    path: str, body: bytes | Chunks, headers: dict[str, str], want: int
):
    data = io.BytesIO(body) if isinstance(body, bytes) else body()
    async with talking(streams(*events()), model="claude-x", max_turns=1) as talk:
        async with talk.client.post(path, data=data, headers=headers) as answer:
            assert answer.status == want
        status, _ = await talk.ask()

    assert status == 200
    assert len(talk.provider.asked) == 1


async def test_model_that_is_named_twice_reaches_the_provider_once():
    body = b'{"model": "claude-big", "mod\\u0065l": "claude-huge", "stream": true}'
    async with (
        talking(streams(*events()), model="claude-x") as talk,
        talk.client.post(MESSAGES, data=body) as answer,
    ):
        await answer.read()

    pairs = json.loads(talk.provider.asked[0].body, object_pairs_hook=tuple)
    assert pairs == (("model", "claude-x"), ("stream", True))


@pytest.mark.parametrize(
    "text",
    [",[{" * VALUES, '\\",' * VALUES, "\u7d04" * 2_000_000],
    ids=["marks", "quotes", "words"],
)
async def test_text_of_many_marks_and_letters_passes_as_it_is_and_no_longer(text: str):
    sent = json.dumps({"model": "claude-x", "text": text}, ensure_ascii=False).encode()
    async with (
        talking(streams(*events()), model="claude-x") as talk,
        talk.client.post(MESSAGES, data=io.BytesIO(sent)) as answer,
    ):
        assert answer.status == 200

    body = talk.provider.asked[0].body
    assert json.loads(body)["text"] == text
    assert len(body) <= len(sent)


async def test_half_a_surrogate_pair_passes_as_it_is():
    async with talking(streams(*events()), model="claude-x") as talk:
        await talk.ask({"text": "\ud800"})

    assert json.loads(talk.provider.asked[0].body)["text"] == "\ud800"


async def test_large_requests_are_read_a_few_at_a_time_and_small_ones_overtake_them():
    gate, body = asyncio.Event(), {"text": "x" * (2 * SMALL)}

    async def hold(request: web.BaseRequest) -> web.StreamResponse:
        await gate.wait()
        return await streams(*events())(request)

    async with talking(hold, model="claude-x") as talk:
        large = [asyncio.create_task(talk.ask(body)) for _ in range(LARGE_AT_ONCE + 1)]
        while len(talk.provider.asked) < LARGE_AT_ONCE:
            await asyncio.sleep(0)
        small = asyncio.create_task(talk.ask())
        while len(talk.provider.asked) <= LARGE_AT_ONCE:
            await asyncio.sleep(0)
        sizes = [len(asked.body) for asked in talk.provider.asked]
        gate.set()
        await asyncio.gather(*large, small)

    assert sizes[-1] < SMALL < min(sizes[:-1])
    assert len(talk.provider.asked) == LARGE_AT_ONCE + 2

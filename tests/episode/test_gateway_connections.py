"""Which connections to the provider are used again, and what of a request goes by them."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from afresh.episode.gateway.model_api import ModelApi
from afresh.episode.gateway.providers.anthropic import AnthropicApi
from afresh.episode.gateway.providers.gemini import GeminiApi
from afresh.episode.gateway.providers.openai import OpenAiApi
from tests.episode.eager_upstreams import ANSWER, REFUSE, end, listening, literal
from tests.episode.gateway_client import MESSAGES, make_gateway, talking, talking_to
from tests.episode.test_gateway_framing import gateway_to, plain, say
from tests.episode.upstream import answers

BIG = b'{"text": "' + b"x" * 8_000_000 + b'"}'
GOOD = (
    f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(ANSWER)}"
    f"\r\n\r\n{ANSWER}"
).encode()


async def connections_for(agent: str, first: bytes) -> int:
    """Ask twice a provider that answers a head with `first`, then well; count its connections."""
    count, running, answered, over = 0, 0, [first, GOOD], asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count, running
        count, running = count + 1, running + 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(answered.pop(0))
                if agent == "small":
                    await reader.readuntil(b"}")
                else:
                    await over.wait()  # takes no more of the body
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            running -= 1

    async with listening(serve) as provider:
        gateway = make_gateway(f"http://127.0.0.1:{provider}")
        gateway.open()
        host, port = gateway.url.removeprefix("http://").split(":")
        body = b"{}" if agent == "small" else BIG
        await say((host, int(port)), plain(body=body))
        await say((host, int(port)), plain(body=body))
        await asyncio.to_thread(gateway.close)
        over.set()
        while running:
            await asyncio.sleep(0.01)
    return count


@pytest.mark.parametrize(
    ("agent", "first", "want"),
    [
        pytest.param("small", GOOD, 1, id="a whole answer of success"),
        pytest.param("small", GOOD.replace(b"200 OK", b"400 No"), 2, id="a refusal"),
        pytest.param("small", GOOD.replace(b"200 OK", b"307 No"), 2, id="a redirect"),
        pytest.param("small", GOOD + b"HTTP/1.1 200 OK\r\n\r\n", 2, id="more than an answer"),
        pytest.param("large", GOOD, 2, id="success before the body was sent"),
    ],
)
async def test_connection_is_used_again_only_after_a_whole_success_to_a_whole_request(
    agent: str, first: bytes, want: int
):
    assert await connections_for(agent, first) == want


async def test_agents_connection_is_used_again_and_what_it_sends_ahead_ends_it(tmp_path: Path):
    async with literal(tmp_path) as eager, gateway_to(eager) as (host, port):
        reader, writer = await asyncio.open_connection(host, port)
        for _ in range(3):
            writer.write(plain("User-Agent: " + REFUSE))
            await asyncio.wait_for(reader.readuntil(b"}}"), 60)
        writer.write(plain() + plain())
        rest = await asyncio.wait_for(reader.read(), 60)
        await end(writer)

    assert rest.count(b"HTTP/1.1 ") == 1
    assert len(eager.seen) == 4


@pytest.mark.parametrize(
    ("api", "path", "kept"),
    [
        pytest.param(
            AnthropicApi,
            f"{MESSAGES}?beta=true&key=mine",
            {"anthropic-version", "anthropic-beta", "x-app", "x-stainless-lang"},
            id="Anthropic",
        ),
        pytest.param(
            OpenAiApi,
            "/v1/responses?api-key=mine",
            {"openai-beta", "originator", "x-stainless-lang"},
            id="OpenAI",
        ),
        pytest.param(
            GeminiApi,
            "/v1beta/models/gemini-x:generateContent?key=mine",
            {"x-goog-api-client"},
            id="Gemini",
        ),
    ],
)
async def test_headers_that_no_list_has_and_the_agents_keys_stay_in_the_pod(
    api: Callable[[], ModelApi], path: str, kept: set[str]
):
    names = {
        *("anthropic-version", "anthropic-beta", "x-app", "x-stainless-lang", "openai-beta"),
        *("originator", "x-goog-api-client", "openai-organization", "openai-project", "cookie"),
        *("x-goog-user-project", "x-goog-fieldmask", "x-goog-api-key", "authorization"),
        *("x-api-key", "api-key", "x-forwarded-for", "forwarded", "via", "range", "te"),
        *("x-http-method-override", "x-claude-code-session-id", "x-codex-turn-metadata"),
    }
    sent = dict.fromkeys(names, "mine")
    async with talking_to(api(), answers(200, b"{}")) as talk:
        async with talk.client.post(path, json={}, headers=sent) as answer:
            await answer.read()
        (asked,) = talk.provider.asked

    assert {name for name, value in asked.headers.items() if value == "mine"} == kept
    assert "mine" not in asked.path
    assert set(asked.headers) - kept <= {
        *("host", "accept", "user-agent", "accept-encoding", "content-type", "content-length"),
        *("x-api-key", "authorization", "x-goog-api-key"),
    }


async def test_answers_headers_that_no_list_has_stay_in_the_runner():
    provider_answers = answers(
        200, b"{}", X_Echo="the-real-key", Location="/", Anthropic_Tier="1", Via="x"
    )
    async with talking(provider_answers) as talk, talk.client.post(MESSAGES, json={}) as answer:
        names = {name.lower() for name in answer.headers}

    assert names == {"anthropic-tier", "connection", "content-type", "date", "transfer-encoding"}

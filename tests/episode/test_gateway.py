"""The gateway between a client and a provider, both on loopback."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from afresh.contract.order import Price
from afresh.contract.report import Usage
from afresh.episode.anthropic_api import AnthropicApi
from afresh.episode.gateway import Gateway
from afresh.episode.log import Log
from afresh.episode.meter import Meter
from afresh.episode.model_api import Fault, Upstream
from afresh.episode.redact import Redactor
from tests.episode.upstream import (
    Answer,
    answers,
    breaks,
    events,
    providing,
    refuses,
    server_sent,
    streams,
    usage,
)

KEY = "the-real-key"
PRICE = Price(
    model="claude-*",
    input_usd_per_million="3",
    output_usd_per_million="15",
    cache_read_usd_per_million="0.30",
    cache_write_usd_per_million="3.75",
)
MESSAGES = "/v1/messages"


def make_gateway(
    endpoint: str, *, max_turns: int = 20, model: str | None = None, prices: tuple[Price, ...] = ()
) -> Gateway:
    upstream = Upstream(
        api=AnthropicApi(), endpoint=endpoint, key=KEY, model=model, authorities=Path("/nowhere")
    )
    return Gateway(upstream, Meter(max_turns, prices), Log(Redactor()))


@asynccontextmanager
async def admitting(gateway: Gateway) -> AsyncIterator[aiohttp.ClientSession]:
    """A client of a gateway that lets requests pass."""
    gateway.start(0)
    gateway.admit()
    try:
        async with aiohttp.ClientSession(gateway.url, auto_decompress=False) as client:
            yield client
    finally:
        await asyncio.to_thread(gateway.close)


async def ask(client: aiohttp.ClientSession, body: object = None) -> tuple[int, bytes]:
    async with client.post(MESSAGES, json=body or {"model": "claude-x"}) as answer:
        return answer.status, await answer.read()


async def test_streamed_answer_passes_unchanged_and_is_counted_and_priced():
    sent = events()
    async with providing(streams(*sent)) as provider:
        gateway = make_gateway(provider.url, prices=(PRICE,))
        async with admitting(gateway) as client:
            status, body = await ask(client)

    assert (status, body) == (200, b"".join(map(server_sent, sent)))
    # 10 x 3 + 7 x 15 + 3 x 0.30 + 4 x 3.75 = 150.9 millionths
    assert gateway.meter.usage() == Usage(
        turns=1, input_tokens=10, output_tokens=7, cache_read_tokens=3, cache_write_tokens=4,
        cost_usd="0.0001509",
    )  # fmt: skip
    assert gateway.meter.last_fault is None


async def test_answer_in_one_message_is_counted():
    message = {"type": "message", "model": "claude-x", "usage": usage(input=5, output=6)}
    async with providing(answers(200, message)) as provider:
        gateway = make_gateway(provider.url)
        async with admitting(gateway) as client:
            status, body = await ask(client)

    assert (status, json.loads(body)) == (200, message)
    assert gateway.meter.usage() == Usage(turns=1, input_tokens=5, output_tokens=6)


async def test_pieces_of_a_stream_arrive_before_its_end():
    gate = asyncio.Event()
    async with providing(streams(*events(), gate=gate)) as provider:
        async with (
            admitting(make_gateway(provider.url)) as client,
            client.post(MESSAGES, json={}) as answer,
        ):
            first = await asyncio.wait_for(answer.content.readuntil(b"\n\n"), 10)
            gate.set()
            rest = await answer.content.read()

    assert b"message_start" in first
    assert rest.endswith(server_sent(events()[-1]))


async def test_events_cut_anywhere_and_very_long_ones_are_counted_alike():
    long = {"type": "content_block_delta", "delta": {"text": "x" * 3_000_000}}
    whole = b"".join(map(server_sent, [events()[0], long, *events()[1:]]))
    pieces = [whole[i : i + 7] for i in range(0, 700, 7)] + [whole[700:]]
    async with providing(streams(*pieces)) as provider:
        gateway = make_gateway(provider.url)
        async with admitting(gateway) as client:
            _, body = await ask(client)

    assert body == whole
    assert gateway.meter.usage().output_tokens == 7


async def test_provider_gets_the_real_key_and_nothing_of_the_agents_credentials():
    async with providing(streams(*events())) as provider:
        async with admitting(make_gateway(provider.url)) as client:
            headers = {
                "x-api-key": "placeholder",
                "Authorization": "Bearer placeholder",
                "Cookie": "a=placeholder",
                "anthropic-version": "2023-06-01",
                "Connection": "keep-alive, x-private",
                "X-Private": "1",
                "User-Agent": "cli/1.0",
            }
            async with client.post(f"{MESSAGES}?beta=true", json={}, headers=headers) as answer:
                await answer.read()
    (asked,) = provider.asked

    assert asked.path == f"{MESSAGES}?beta=true"
    assert asked.headers["x-api-key"] == KEY
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert asked.headers["user-agent"] == "cli/1.0"
    assert asked.headers["accept-encoding"] == "identity"
    assert "placeholder" not in str(asked.headers)
    assert "x-private" not in asked.headers


async def test_answer_carries_neither_the_key_nor_cookies():
    async with providing(answers(200, b"{}", Set_Cookie="a=b", Request_Id="r1")) as provider:
        async with (
            admitting(make_gateway(provider.url)) as client,
            client.post(MESSAGES, json={}) as answer,
        ):
            headers = {name.lower(): value for name, value in answer.headers.items()}

    assert headers["request-id"] == "r1"
    assert "set-cookie" not in headers
    assert KEY not in str(headers)


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param({"model": "claude-big", "stream": True}, "claude-x", id="another model"),
        pytest.param({"stream": True}, "claude-x", id="no model"),
        pytest.param({"model": "claude-x"}, "claude-x", id="the same model"),
    ],
)
async def test_model_of_the_class_is_what_the_provider_is_asked_for(asked: object, want: str):
    async with providing(streams(*events())) as provider:
        async with admitting(make_gateway(provider.url, model="claude-x")) as client:
            await ask(client, asked)

    assert json.loads(provider.asked[0].body)["model"] == want


async def test_large_request_passes_whole():
    body = {"model": "claude-big", "messages": "x" * 5_000_000}
    async with providing(streams(*events())) as provider:
        provider_limit = 6_000_000
        async with admitting(make_gateway(provider.url)) as client:
            status, _ = await ask(client, body)

    assert status == 200
    assert len(provider.asked[0].body) < provider_limit
    assert json.loads(provider.asked[0].body) == body


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/messages/batches"),
        ("POST", "/v1/files"),
        ("GET", "/v1/organizations/me"),
        ("POST", "/v1/messages/../files"),
        ("GET", "/v1/models/../messages/batches"),
        ("GET", "/v1/models/%2e%2e/files"),
        ("DELETE", "/v1/messages"),
        ("GET", "//v1/models"),
        ("POST", "/"),
        ("GET", "/api/event_logging"),
    ],
)
async def test_anything_but_model_paths_is_forbidden_and_never_forwarded(method: str, path: str):
    async with providing(answers(200, b"{}")) as provider:
        gateway = make_gateway(provider.url)
        async with admitting(gateway):
            status = await raw_status(gateway.url, method, path)

    assert status == 403
    assert provider.asked == []


async def raw_status(url: str, method: str, path: str) -> int:
    """Send a path exactly as it stands, which client libraries do not."""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
    line = await asyncio.wait_for(reader.readline(), 10)
    writer.close()
    await writer.wait_closed()
    return int(line.split()[1])


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/messages/count_tokens"),
        ("GET", "/v1/models"),
        ("GET", "/v1/models/claude-x"),
        ("GET", "/v1/models?limit=5"),
    ],
)
async def test_counting_tokens_and_listing_models_pass_and_are_no_turn(method: str, path: str):
    async with providing(answers(200, {"input_tokens": 3})) as provider:
        gateway = make_gateway(provider.url)
        async with admitting(gateway) as client, client.request(method, path) as answer:
            assert await answer.json() == {"input_tokens": 3}

    assert provider.asked[0].path == path
    assert gateway.meter.usage() == Usage()


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_looking_whether_somebody_is_there_is_answered_here(method: str):
    async with providing(answers(200, b"{}")) as provider:
        gateway = make_gateway(provider.url)
        async with admitting(gateway) as client, client.request(method, "/") as answer:
            assert answer.status == 200

    assert provider.asked == []
    assert gateway.meter.usage() == Usage()


def at(seconds: float) -> Callable[[float | None], bool]:
    return lambda found: found is not None and abs(found - seconds) < 5


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        pytest.param(refuses(401, "authentication_error"), Fault.KEY_REFUSED, id="401"),
        pytest.param(refuses(403, "permission_error"), Fault.KEY_REFUSED, id="403"),
        pytest.param(
            refuses(400, "invalid_request_error", "Your credit balance is too low to access"),
            Fault.NO_CREDIT,
            id="400 without credit",
        ),
        pytest.param(
            refuses(400, "invalid_request_error", "prompt is too long: 210000 tokens"),
            Fault.TOO_LONG,
            id="400 with a long prompt",
        ),
        pytest.param(
            refuses(400, "invalid_request_error", "messages: field required"),
            Fault.REJECTED,
            id="400 of the agent's making",
        ),
        pytest.param(
            refuses(404, "not_found_error", "model: claude-y"), Fault.NO_SUCH_MODEL, id="404"
        ),
        pytest.param(refuses(413, "request_too_large"), Fault.TOO_LONG, id="413"),
        pytest.param(refuses(429, "rate_limit_error"), Fault.RATE_LIMITED, id="429"),
        pytest.param(refuses(500, "api_error"), Fault.UNAVAILABLE, id="500"),
        pytest.param(answers(503, b"<html>"), Fault.UNAVAILABLE, id="503 of a proxy"),
        pytest.param(refuses(529, "overloaded_error"), Fault.UNAVAILABLE, id="529"),
        pytest.param(
            streams({"type": "error", "error": {"type": "overloaded_error"}}),
            Fault.UNAVAILABLE,
            id="an error as the first event",
        ),
        pytest.param(streams(), Fault.EMPTY, id="an empty stream"),
        pytest.param(answers(200, b""), Fault.EMPTY, id="an empty body"),
        pytest.param(breaks(), Fault.UNREACHABLE, id="a connection that breaks before the answer"),
    ],
)
async def test_request_without_an_answer_is_no_turn_and_its_fault_is_kept(
    answer: Answer, want: Fault
):
    async with providing(answer) as provider:
        gateway = make_gateway(provider.url)
        async with admitting(gateway) as client:
            await ask(client)

    assert gateway.meter.last_fault is want
    assert gateway.meter.usage() == Usage()


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        pytest.param(breaks(*events(stop=False)), Fault.UNREACHABLE, id="it breaks off"),
        pytest.param(streams(*events(stop=False)), Fault.UNREACHABLE, id="it ends too early"),
        pytest.param(
            streams(*events(stop=False), {"type": "error", "error": {"type": "overloaded_error"}}),
            Fault.UNAVAILABLE,
            id="it ends with an error",
        ),
    ],
)
async def test_answer_that_begins_and_is_not_whole_is_a_turn_with_a_fault(
    answer: Answer, want: Fault
):
    async with providing(answer) as provider:
        gateway = make_gateway(provider.url)
        async with admitting(gateway) as client:
            with pytest_suppress_broken():
                await ask(client)

    assert gateway.meter.last_fault is want
    assert gateway.meter.usage().turns == 1
    assert gateway.meter.usage().input_tokens == 10


def pytest_suppress_broken():
    import contextlib

    return contextlib.suppress(aiohttp.ClientError)


async def test_refusal_reaches_the_agent_with_its_status_headers_and_body():
    async with providing(refuses(429, "rate_limit_error", "slow", Retry_After="9")) as provider:
        async with (
            admitting(make_gateway(provider.url)) as client,
            client.post(MESSAGES, json={}) as answer,
        ):
            assert answer.status == 429
            assert answer.headers["Retry-After"] == "9"
            assert (await answer.json())["error"]["message"] == "slow"


async def test_success_after_a_fault_forgets_the_fault():
    async with providing(refuses(529, "overloaded_error")) as provider:
        gateway = make_gateway(provider.url)
        async with admitting(gateway) as client:
            await ask(client)
            assert gateway.meter.last_fault is Fault.UNAVAILABLE
            provider.answer = streams(*events())
            await ask(client)

    assert gateway.meter.last_fault is None


async def test_turn_limit_is_kept_also_by_requests_at_once_and_told_in_the_apis_form():
    gate = asyncio.Event()
    async with providing(streams(*events(), gate=gate)) as provider:
        gateway = make_gateway(provider.url, max_turns=2)
        async with admitting(gateway) as client:
            first, second = (asyncio.create_task(ask(client)) for _ in range(2))
            while len(provider.asked) < 2:
                await asyncio.sleep(0)
            status, body = await ask(client)
            gate.set()
            assert [(await first)[0], (await second)[0]] == [200, 200]

    assert status == 400
    assert json.loads(body)["error"] == {
        "type": "invalid_request_error",
        "message": "The turn limit of this task is reached.",
    }
    assert len(provider.asked) == 2
    assert gateway.meter.limit_reached
    assert gateway.meter.usage().turns == 2


async def test_request_that_was_refused_by_the_provider_uses_up_no_turn():
    async with providing(refuses(529, "overloaded_error")) as provider:
        gateway = make_gateway(provider.url, max_turns=1)
        async with admitting(gateway) as client:
            await ask(client)
            provider.answer = streams(*events())
            status, _ = await ask(client)

    assert status == 200
    assert not gateway.meter.limit_reached


async def test_nothing_passes_before_the_agent_starts():
    async with providing(streams(*events())) as provider:
        gateway = make_gateway(provider.url)
        gateway.start(0)
        async with aiohttp.ClientSession(gateway.url) as client:
            status, _ = await ask(client)
        await asyncio.to_thread(gateway.close)

    assert status == 403
    assert provider.asked == []


async def test_closing_cuts_off_what_is_under_way_counts_it_and_stops_listening():
    gate = asyncio.Event()
    async with providing(streams(*events(), gate=gate)) as provider:
        gateway = make_gateway(provider.url)
        async with admitting(gateway) as client:
            async with client.post(MESSAGES, json={}) as answer:
                await answer.content.readuntil(b"\n\n")
                await asyncio.to_thread(gateway.close)
                with pytest.raises(aiohttp.ClientError):
                    await answer.read()
            with pytest.raises(aiohttp.ClientConnectorError):
                await ask(client)
        gate.set()

    assert gateway.meter.usage().input_tokens == 10
    assert gateway.meter.last_fault is None


async def test_agent_that_hangs_up_ends_the_request_to_the_provider_and_is_no_fault():
    ended = asyncio.Event()

    async def hang(request: aiohttp.web.BaseRequest) -> aiohttp.web.StreamResponse:
        try:
            await asyncio.sleep(600)
        finally:
            ended.set()
        return aiohttp.web.Response()

    async with providing(hang) as provider:
        gateway = make_gateway(provider.url)
        async with admitting(gateway) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(ask(client), 0.2)
            await asyncio.sleep(0)

    assert gateway.meter.last_fault is None
    assert gateway.meter.usage() == Usage()


async def test_provider_that_cannot_be_reached_is_told_to_the_agent_and_kept():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        gateway = make_gateway(f"http://127.0.0.1:{unused.getsockname()[1]}")
        async with admitting(gateway) as client:
            status, body = await ask(client)

    assert status == 502
    assert "cannot be reached" in json.loads(body)["error"]["message"]
    assert gateway.meter.last_fault is Fault.UNREACHABLE


async def test_endpoint_with_a_path_keeps_it():
    async with providing(streams(*events())) as provider:
        async with admitting(make_gateway(f"{provider.url}/models/anthropic")) as client:
            await ask(client)

    assert provider.asked[0].path == "/models/anthropic/v1/messages"


async def test_redirect_is_not_followed_with_the_key():
    async with providing(answers(307, b"", Location="http://127.0.0.1:9/")) as provider:
        async with (
            admitting(make_gateway(provider.url)) as client,
            client.post(MESSAGES, json={}, allow_redirects=False) as answer,
        ):
            assert answer.status == 307

    assert len(provider.asked) == 1

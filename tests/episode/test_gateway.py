"""What passes through the gateway, in both directions, and what does not."""

import asyncio
import socket

import aiohttp
import pytest

from afresh.contract.report import Usage
from afresh.episode.gateway.model_api import ModelFault
from tests.episode.eager_upstreams import end
from tests.episode.gateway_client import KEY, MESSAGES, make_gateway, talking
from tests.episode.upstream import answers, events, providing, refuses, server_sent, streams


async def test_pieces_of_a_stream_arrive_before_its_end():
    gate = asyncio.Event()
    async with (
        talking(streams(*events(), gate=gate)) as talk,
        talk.client.post(MESSAGES, json={}) as answer,
    ):
        first = await asyncio.wait_for(answer.content.readuntil(b"\n\n"), 60)
        gate.set()
        rest = await answer.content.read()

    assert b"message_start" in first
    assert rest.endswith(server_sent(events()[-1]))


async def test_provider_gets_the_real_key_and_nothing_of_the_agents_credentials():
    headers = {
        "x-api-key": "placeholder",
        "Authorization": "Bearer placeholder",
        "Cookie": "a=placeholder",
        "anthropic-version": "2023-06-01",
        "Connection": "keep-alive",
        "X-Private": "1",
        "User-Agent": "cli/1.0",
    }
    async with (
        talking(streams(*events())) as talk,
        talk.client.post(f"{MESSAGES}?beta=true", json={}, headers=headers) as answer,
    ):
        await answer.read()
        (asked,) = talk.provider.asked

    assert asked.path == f"{MESSAGES}?beta=true"
    assert asked.headers["x-api-key"] == KEY
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert asked.headers["user-agent"] == "cli/1.0"
    assert asked.headers["accept-encoding"] == "identity"
    assert "placeholder" not in str(asked.headers)
    assert "x-private" not in asked.headers


async def test_answer_carries_neither_the_key_nor_cookies():
    async with (
        talking(answers(200, b"{}", Set_Cookie="a=b", Request_Id="r1")) as talk,
        talk.client.post(MESSAGES, json={}) as answer,
    ):
        headers = {name.lower(): value for name, value in answer.headers.items()}

    assert headers["request-id"] == "r1"
    assert "set-cookie" not in headers
    assert KEY not in str(headers)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/messages/batches"),
        ("POST", "/v1/files"),
        ("GET", "/v1/organizations/me"),
        ("POST", "/v1/messages/../files"),
        ("GET", "/v1/models/../messages/batches"),
        ("GET", "/v1/models/%2e%2e/files"),
        ("GET", "/v1/models/.."),
        ("DELETE", "/v1/messages"),
        ("GET", "//v1/models"),
        ("POST", "/"),
        ("GET", "/api/event_logging"),
    ],
)
async def test_anything_but_model_paths_is_forbidden_and_never_forwarded(method: str, path: str):
    async with talking(answers(200, b"{}")) as talk:
        status = await raw_status(talk.gateway.url, method, path)

    assert status == 403
    assert talk.provider.asked == []


async def raw_status(url: str, method: str, path: str) -> int:
    """Send a path exactly as it stands, which client libraries do not."""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
    line = await asyncio.wait_for(reader.readline(), 60)
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
    async with (
        talking(answers(200, {"input_tokens": 3})) as talk,
        talk.client.request(method, path) as answer,
    ):
        assert await answer.json() == {"input_tokens": 3}

    assert talk.provider.asked[0].path == path
    assert talk.usage == Usage()


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_looking_whether_somebody_is_there_is_answered_here(method: str):
    async with talking(answers(200, b"{}")) as talk, talk.client.request(method, "/") as answer:
        assert answer.status == 200

    assert talk.provider.asked == []
    assert talk.usage == Usage()


async def test_request_without_a_turn_left_is_refused_before_its_body_is_read():
    async with talking(streams(*events()), model="claude-x", max_turns=1) as talk:
        await talk.ask()
        host, _, port = talk.gateway.url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"POST {MESSAGES} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n".encode())
        line = await asyncio.wait_for(reader.readline(), 60)
        await end(writer)

    assert line.split()[1] == b"400"
    assert talk.gateway.meter.limit_reached


@pytest.mark.parametrize(
    ("wait", "want"),
    [pytest.param("5", "5", id="a short wait"), pytest.param("600", None, id="too long a wait")],
)
async def test_refusal_reaches_the_agent_with_its_status_body_and_no_wait_that_is_too_long(
    wait: str, want: str | None
):
    async with (
        talking(refuses(429, "rate_limit_error", "slow", Retry_After=wait, Request_Id="r")) as talk,
        talk.client.post(MESSAGES, json={}) as answer,
    ):
        assert answer.status == 429
        assert answer.headers["Request-Id"] == "r"
        assert answer.headers.get("Retry-After") == want
        assert (await answer.json())["error"]["message"] == "slow"


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Retry_After": "1800000000"}, id="seconds since the epoch as a wait"),
        pytest.param(
            {"Anthropic_Ratelimit_Unified_Reset": "1800000000000"}, id="thousandths of a second"
        ),
        pytest.param({"Retry_After": "9" * 400}, id="more than a number holds"),
    ],
)
async def test_reset_time_that_no_limit_has_is_believed_by_nobody(headers: dict[str, str]):
    async with (
        talking(refuses(429, "rate_limit_error", **headers)) as talk,
        talk.client.post(MESSAGES, json={}) as answer,
    ):
        assert "Retry-After" not in answer.headers

    assert talk.gateway.meter.last_fault is ModelFault.RATE_LIMITED
    assert talk.gateway.meter.not_before is None


async def test_nobody_is_let_in_before_the_agent_starts():
    async with providing(streams(*events())) as provider:
        gateway = make_gateway(provider.url)
        async with aiohttp.ClientSession(gateway.url) as client:
            with pytest.raises(aiohttp.ClientConnectorError):
                await client.post(MESSAGES, json={})
        gateway.close()

    assert provider.asked == []


async def test_address_is_the_gateways_before_it_listens_and_the_next_ones_after_its_end():
    async with providing(streams(*events())) as provider:
        gateway = make_gateway(provider.url)
        port = int(gateway.url.rpartition(":")[2])
        with socket.socket() as thief:
            thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with pytest.raises(OSError, match="in use"):
                thief.bind(("127.0.0.1", port))
        async with aiohttp.ClientSession(gateway.url) as client:
            gateway.open()
            await client.post(MESSAGES, json={})
            await asyncio.to_thread(gateway.close)
            gateway = make_gateway(provider.url, port=port)
            gateway.open()
            await client.post(MESSAGES, json={})
            await asyncio.to_thread(gateway.close)

    assert len(provider.asked) == 2


async def test_gateway_that_is_closed_before_it_served_anything_ends():
    async with providing(streams(*events())) as provider:
        gateway = make_gateway(provider.url)
        gateway.open()
        await asyncio.to_thread(gateway.close)

        async with aiohttp.ClientSession(gateway.url) as client:
            with pytest.raises(aiohttp.ClientConnectorError):
                await client.post(MESSAGES, json={})


async def test_endpoint_with_a_path_keeps_it():
    async with talking(streams(*events()), path="/models/anthropic") as talk:
        await talk.ask()

    assert talk.provider.asked[0].path == "/models/anthropic/v1/messages"


async def test_redirect_is_not_followed_with_the_key():
    async with (
        talking(answers(307, b"", Location="http://127.0.0.1:9/")) as talk,
        talk.client.post(MESSAGES, json={}, allow_redirects=False) as answer,
    ):
        assert answer.status == 307

    assert len(talk.provider.asked) == 1

"""How the gateway reaches its provider: through proxies, by the system's roots, and all at once."""

import asyncio
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from tests.episode.authority import server_context
from tests.episode.gateway_client import KEY, MESSAGES, make_gateway, talking
from tests.episode.upstream import Answer, answers, events, providing, server_sent, streams

TEN_MB = 10_000_000


@contextmanager
def forward_proxy() -> Iterator[tuple[int, list[str]]]:
    """Run a proxy; give its port, and at the end of the block what it was asked."""
    program = Path(__file__).with_name("forward_proxy.py")
    process = subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True)
    received: list[str] = []
    try:
        assert process.stdout
        yield int(process.stdout.readline()), received
    finally:
        process.terminate()
        received += process.communicate(timeout=120)[0].splitlines()


async def ask_once(endpoint: str) -> tuple[int, bytes]:
    """Ask through a gateway of its own."""
    gateway = make_gateway(endpoint)
    gateway.open()
    async with (
        aiohttp.ClientSession(gateway.url) as client,
        client.post(MESSAGES, json={}) as answer,
    ):
        received = answer.status, await answer.read()
    await asyncio.to_thread(gateway.close)
    return received


@pytest.mark.parametrize(
    ("path", "want"), [(MESSAGES, 504), (f"{MESSAGES}/count_tokens", 502)], ids=["turn", "count"]
)
async def test_proxy_that_says_nothing_is_not_waited_for_without_end(
    path: str, want: int, monkeypatch: pytest.MonkeyPatch
):
    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()  # until the gateway has enough
        writer.close()

    async with await asyncio.start_server(listen, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        gateway = make_gateway("https://model.example.com", silence=0.1)
        gateway.open()
        try:
            async with (
                aiohttp.ClientSession(gateway.url, trust_env=False) as client,
                asyncio.timeout(60),
                client.post(path, json={}) as answer,
            ):
                status = answer.status
        finally:
            await asyncio.to_thread(gateway.close)

    assert status == want


async def test_proxy_of_the_environment_passes_on_what_the_gateway_asks(
    monkeypatch: pytest.MonkeyPatch,
):
    async with providing(streams(*events())) as provider:
        with forward_proxy() as (port, received):
            monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
            status, body = await ask_once(provider.url)

    assert (status, body) == (200, b"".join(map(server_sent, events())))
    assert received == [f"POST {provider.url}{MESSAGES} HTTP/1.1"]


async def test_proxy_sees_nothing_of_what_passes_by_tls(
    monkeypatch: pytest.MonkeyPatch, authority: Path
):
    monkeypatch.setenv("SSL_CERT_FILE", str(authority / "bundle/ca.crt"))
    async with providing(streams(*events()), server_context(authority)) as provider:
        with forward_proxy() as (port, received):
            monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
            status, _ = await ask_once(provider.url)

    assert status == 200
    assert provider.asked[0].headers["x-api-key"] == KEY
    assert received == [f"CONNECT {provider.url.removeprefix('https://')} HTTP/1.1"]


async def test_provider_that_needs_no_proxy_is_asked_without_one(monkeypatch: pytest.MonkeyPatch):
    async with providing(streams(*events())) as provider:
        with forward_proxy() as (port, received):
            monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
            monkeypatch.setenv("no_proxy", "127.0.0.1")
            status, _ = await ask_once(provider.url)

    assert status == 200
    assert received == []


@pytest.mark.parametrize("model", [None, "claude-x"], ids=["as it is", "with the model changed"])
async def test_ten_megabytes_pass_in_both_directions(model: str | None):
    asked = {"model": "claude-x", "messages": "x" * TEN_MB}
    text = {"type": "content_block_delta", "delta": {"text": "y" * TEN_MB}}
    start, *rest = events()
    data = io.BytesIO(json.dumps(asked).encode())
    async with (
        talking(streams(start, text, *rest), model=model) as talk,
        talk.client.post(MESSAGES, data=data) as answer,
    ):
        body = await answer.read()

    assert json.loads(talk.provider.asked[0].body) == asked
    assert body == b"".join(map(server_sent, (start, text, *rest)))
    assert talk.usage.output_tokens == 7


@pytest.mark.parametrize("model", [None, "claude-x"], ids=["as it is", "with the model changed"])
async def test_fifty_requests_are_under_way_at_once_and_all_are_counted(model: str | None):
    everybody, arrived = asyncio.Event(), 0

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal arrived
        arrived += 1
        if arrived == 50:
            everybody.set()
        await asyncio.wait_for(everybody.wait(), 120)
        return await streams(*events())(request)

    async with talking(answer, model=model, max_turns=50) as talk:
        received = await asyncio.gather(*(talk.ask() for _ in range(50)))

    assert [status for status, _ in received] == [200] * 50
    assert (talk.usage.turns, talk.usage.input_tokens) == (50, 500)


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Connection", "close, x-hop"),
        ("Keep-Alive", "timeout=5"),
        ("Proxy-Authenticate", "Basic"),
        ("Trailer", "x-sum"),
        ("X-Hop", "1"),
    ],
)
async def test_header_that_is_for_one_connection_does_not_reach_the_agent(header: str, value: str):
    given = {"Connection": "close, x-hop", header: value, "Request-Id": "1"}
    answer: Answer = answers(200, b"{}", **{name.replace("-", "_"): v for name, v in given.items()})
    async with talking(answer) as talk, talk.client.post(MESSAGES, json={}) as received:
        assert received.headers.get(header) in (None, "keep-alive")
        assert received.headers["Request-Id"] == "1"

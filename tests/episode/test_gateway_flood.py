"""What an agent that floods its own gateway gets: nothing that the runner cannot afford."""

import asyncio
from asyncio import StreamWriter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress

import pytest

from afresh.api.resources import quantity_value
from afresh.contract.report import Usage
from afresh.episode.gateway.answer_reader import EVENT_LIMIT, MESSAGE_LIMIT
from afresh.episode.gateway.bounds import (
    ANSWERS,
    BODY_LIMIT,
    CONNECTIONS,
    GROWTH,
    HEAD_LIMIT,
    LARGE_AT_ONCE,
    MIB,
    PARSED,
    PER_CONNECTION,
    VALUE_BYTES,
    VALUES,
    ConnectionPatience,
    most_memory,
)
from afresh.manifests.pod import RUNNER_RESOURCES
from tests.episode.gateway_client import MESSAGES, make_gateway
from tests.episode.gateway_process import GatewayProcess, gateway_process
from tests.episode.test_gateway_framing import plain, say
from tests.episode.upstream import answers, events, providing, streams
from tests.episode.upstream import usage as counts

pytestmark = pytest.mark.slow

PATIENCE = ConnectionPatience(head=2, body=2, end=2)
MESSAGE = {"type": "message", "model": "claude-x", "usage": counts(input=5, output=6)}
PIECE = 64 << 10
ATTACKERS = 256
HEAD = f"POST {MESSAGES} HTTP/1.1\r\nHost: x\r\n".encode()
LONG = HEAD + b"Content-Length: %d\r\n\r\n" % BODY_LIMIT
IN_CHUNKS = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def test_sum_of_what_an_agent_can_make_the_gateway_hold_is_well_under_the_runners_limit():
    limit = int(quantity_value(RUNNER_RESOURCES["limits"]["memory"]))

    assert most_memory() + 100 * MIB < limit * 2 / 3


def endless(start: bytes, more: bytes) -> Iterable[bytes]:
    yield start
    for _ in range(4 * MIB // PIECE):
        yield more * (PIECE // len(more))


FLOODS: dict[str, Callable[[], Iterable[bytes]]] = {
    "heads that do not end": lambda: endless(HEAD, b"X-A: " + b"a" * 7900 + b"\r\n"),
    "one field that does not end": lambda: endless(HEAD + b"X-A: ", b"a"),
    "a first line that does not end": lambda: endless(b"POST /", b"a"),
    "long heads that stop": lambda: [HEAD + 120 * (b"X-A: " + b"a" * 16_000 + b"\r\n")],
    "heads that stop": lambda: [HEAD + b"X-A: " + b"a" * (HEAD_LIMIT - 200)],
    "nothing but connections": list,
    "bodies that stop": lambda: [LONG + b"{" + b" " * PIECE],
    "bodies that are large": lambda: endless(LONG, b" "),
    "chunks that do not end": lambda: endless(IN_CHUNKS, b"1\r\n{\r\n"),
    "requests one behind the other": lambda: endless(b"", plain(body=b"{}")),
    "requests for nothing": lambda: endless(b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    "what is dropped": lambda: endless(HEAD + b"Expect: x\r\n\r\n", b"a"),
}


async def counted(gateway: GatewayProcess, turns: int) -> Usage:
    """Return the usage when it has so many turns: an answer is counted when it has gone."""
    async with asyncio.timeout(60):
        while (usage := await gateway.usage()).turns < turns:
            await asyncio.sleep(0.01)
    return usage


async def flood(gateway: GatewayProcess, pieces: Iterable[bytes]) -> None:
    """Send until the gateway hangs up, or takes nothing more; read nothing."""
    writer = None
    try:
        _, writer = await asyncio.open_connection(*gateway.address, limit=1)
        for piece in pieces:
            writer.write(piece)
            await asyncio.wait_for(writer.drain(), 1)
        await asyncio.wait_for(writer.wait_closed(), 1)
    except (OSError, TimeoutError):
        pass
    finally:
        if writer:
            writer.transport.abort()


@pytest.mark.parametrize("pieces", FLOODS.values(), ids=FLOODS)
async def test_gateway_that_is_flooded_still_serves_a_request_and_has_the_usage(
    pieces: Callable[[], Iterable[bytes]],
):
    """The flood may not even fill the sum without what is parsed, which has a test of its own."""
    bound = most_memory() - PARSED * BODY_LIMIT - VALUES * VALUE_BYTES
    async with (
        providing(answers(200, MESSAGE)) as provider,
        gateway_process(provider.url, PATIENCE) as gateway,
    ):
        assert b"200 OK" in await say(gateway.address, plain())
        before = await counted(gateway, 1)
        base = gateway.peak
        gateway.allow(2 * bound)
        await asyncio.gather(*(flood(gateway, pieces()) for _ in range(ATTACKERS)))
        received = await say(gateway.address, plain())
        after = await counted(gateway, before.turns + 1)
        peak = gateway.peak

    assert b"200 OK" in received
    assert before == Usage(turns=1, input_tokens=5, output_tokens=6)
    assert after.output_tokens >= 12
    assert peak - base < bound


LARGE = b'{"stream":true,"a":"%b"}' % (b"x" * (15 * MIB))
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(LARGE), LARGE)
LONG_TEXT = {"delta": {"type": "text_delta", "text": "x" * (MIB // 4)}}
STREAM = [*events()[:2], *(64 * [{"type": "content_block_delta", **LONG_TEXT}])]
LEAVING: dict[str, tuple[bytes, bytes]] = {
    "before its request is whole": (WHOLE[:-MIB], b""),
    "before the answer begins": (WHOLE, b""),
    "in the middle of the answer": (WHOLE, b"xxx"),
}


@pytest.mark.parametrize(("request_bytes", "seen"), LEAVING.values(), ids=LEAVING)
async def test_agent_that_hangs_up_many_times_leaves_nothing_in_memory(
    request_bytes: bytes, seen: bytes
):
    """What the requests held would be 720 MiB in sum."""
    gate = asyncio.Event()
    answer = streams(*STREAM) if seen else streams(b"", gate=gate)
    async with (
        providing(answer) as provider,
        gateway_process(provider.url, ConnectionPatience()) as gateway,
    ):
        base = gateway.peak
        for _ in range(12):
            await asyncio.gather(
                *(ask_and_leave(gateway, request_bytes, seen) for _ in range(LARGE_AT_ONCE))
            )
        peak = gateway.peak
        gate.set()

    assert peak - base < most_memory()


async def ask_and_leave(gateway: GatewayProcess, request_bytes: bytes, seen: bytes) -> None:
    """Send so much, read until `seen` has come, and reset the connection."""
    reader, writer = await asyncio.open_connection(*gateway.address, limit=BODY_LIMIT)
    writer.transport.set_write_buffer_limits(high=0)
    writer.write(request_bytes)
    async with asyncio.timeout(60):
        await writer.drain()
        await reader.readuntil(seen) if seen else None
    await hang_up(writer)


async def test_bodies_that_grow_in_memory_stay_within_the_sum():
    """Texts that take four bytes a letter, and small lists, by as many connections as there are."""
    lists = b"[[]]," * (VALUES // 3 - 10)
    text = b"x" * (BODY_LIMIT - len(lists) - 100) + "\U0001f600".encode()
    large = b'{"a":[%b"%b"]}' % (lists, text)
    many = b'{"a":[%b1]}' % (b"{}," * 5_000_000)
    async with (
        providing(answers(200, MESSAGE)) as provider,
        gateway_process(provider.url, ConnectionPatience(), model="claude-x") as gateway,
    ):
        await say(gateway.address, plain())
        before = gateway.peak
        gateway.allow(most_memory())
        received = await asyncio.gather(
            *(say(gateway.address, plain(body=body)) for body in [large, many] * 4)
        )
        peak = gateway.peak

    assert [answer.split()[1] for answer in received] == [b"200", b"413"] * 4
    assert peak - before < most_memory()


START = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"6\r\n: hi\n\n\r\n"
)


@asynccontextmanager
async def holding(
    *, reads: bool, answer: bytes = START
) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A provider that begins its answers and ends them at the event; `reads`: the request first."""
    gate = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            left = int(head.lower().partition(b"content-length:")[2].split()[0]) if reads else 0
            while left:
                left -= len(await reader.read(min(left, MIB)))
            writer.write(answer)
            await gate.wait()
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", gate


async def begin(address: tuple[str, int], body: bytes, end: bytes = b": hi") -> StreamWriter:
    """Ask; return when the answer has come as far as `end`."""
    reader, writer = await asyncio.open_connection(*address, limit=BODY_LIMIT)
    writer.write(plain(body=body))
    await asyncio.wait_for(reader.readuntil(end), 60)
    return writer


async def hang_up(*writers: StreamWriter) -> None:
    for writer in writers:
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


async def test_bodies_of_requests_that_are_being_answered_take_no_memory():
    body = b'{"a":"%b"}' % (b"x" * (BODY_LIMIT - 100))
    count = 2 * PARSED
    async with (
        holding(reads=True) as (url, gate),
        gateway_process(url, ConnectionPatience()) as gateway,
    ):
        await say(gateway.address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        before = gateway.peak
        writers = [await begin(gateway.address, body) for _ in range(count)]
        peak = gateway.peak
        gate.set()
        await hang_up(*writers)

    assert peak - before < PARSED * BODY_LIMIT


@pytest.mark.parametrize(
    ("kind", "size"),
    [("application/json", MESSAGE_LIMIT - 99), ("text/event-stream", EVENT_LIMIT - 99)],
    ids=["messages", "events"],
)
async def test_answers_that_do_not_end_are_kept_within_the_sum(kind: str, size: int):
    head = START.partition(b"\r\n\r\n")[0].replace(b"text/event-stream", kind.encode())
    answer = head + b"\r\n\r\n%x\r\ndata:%b!\r\n" % (size + 6, b"[" * size)
    bound = int(GROWTH * ANSWERS) + CONNECTIONS * PER_CONNECTION
    async with (
        holding(reads=True, answer=answer) as (url, gate),
        gateway_process(url, ConnectionPatience()) as gateway,
    ):
        await say(gateway.address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        before = gateway.peak
        writers = [await begin(gateway.address, b"{}", b"!") for _ in range(CONNECTIONS)]
        peak = gateway.peak
        gate.set()
        await hang_up(*writers)

    assert peak - before < bound


async def test_request_is_kept_from_being_read_while_others_are_answered_before_they_are_sent():
    body = b'{"a":"%b"}' % (b"x" * (BODY_LIMIT - 100))
    async with holding(reads=False) as (url, gate):
        gateway = make_gateway(url)
        gateway.open()
        host, _, port = gateway.url.removeprefix("http://").partition(":")
        writers = [await begin((host, int(port)), body) for _ in range(LARGE_AT_ONCE)]
        _, another = await asyncio.open_connection(host, int(port))
        another.write(plain(body=body))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(another.drain(), 1)
        gate.set()
        await asyncio.wait_for(another.drain(), 60)
        await hang_up(*writers, another)
        await asyncio.to_thread(gateway.close)


async def test_values_do_not_hide_behind_another_encoding():
    """A sign whose bytes have a quotation mark in them would turn texts and values round."""
    body = ('{"a":["\u2200",' + "[]," * VALUES + '"\u2200"]}').encode("utf-16-le")
    async with providing(answers(200, MESSAGE)) as provider:
        gateway = make_gateway(provider.url)
        gateway.open()
        host, _, port = gateway.url.removeprefix("http://").partition(":")
        received = await say((host, int(port)), plain(body=body))
        await asyncio.to_thread(gateway.close)

    assert received.startswith(b"HTTP/1.1 400 ")
    assert provider.asked == []


async def test_connection_that_waits_makes_room_for_a_new_one_and_one_at_work_does_not():
    gate = asyncio.Event()
    async with providing(streams(*events(), gate=gate)) as provider:
        gateway = make_gateway(provider.url, max_turns=2 * CONNECTIONS)
        gateway.open()
        host, _, port = gateway.url.removeprefix("http://").partition(":")
        idle = await asyncio.open_connection(host, int(port))
        working = [asyncio.create_task(say((host, int(port)), plain())) for _ in range(CONNECTIONS)]
        gone = await asyncio.wait_for(idle[0].read(), 60)
        while len(provider.asked) < CONNECTIONS:
            await asyncio.sleep(0.01)
        refused = await say((host, int(port)), plain())
        gate.set()
        received = await asyncio.gather(*working)
        idle[1].close()
        await asyncio.to_thread(gateway.close)

    assert (gone, refused) == (b"", b"")
    assert all(b"200 OK" in answer for answer in received)


@pytest.mark.parametrize(
    ("sent", "want"),
    [
        pytest.param(HEAD, b"", id="a head"),
        pytest.param(LONG + b"{", b"HTTP/1.1 408 ", id="a body"),
        pytest.param(IN_CHUNKS + b"1\r\n", b"HTTP/1.1 408 ", id="a chunk"),
    ],
)
async def test_request_that_does_not_come_in_time_is_ended(sent: bytes, want: bytes):
    async with providing(answers(200, MESSAGE)) as provider:
        gateway = make_gateway(
            provider.url, patience=ConnectionPatience(head=0.1, body=0.1, end=0.1)
        )
        gateway.open()
        host, _, port = gateway.url.removeprefix("http://").partition(":")
        received = await say((host, int(port)), sent)
        await asyncio.to_thread(gateway.close)

    assert received.startswith(want)
    assert bool(received) == bool(want)
    assert provider.asked == []

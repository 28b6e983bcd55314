"""One connection of a listener, and how many there may be."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from afresh.contract.hint_request import build_request, pin_of
from afresh.kube import report_server
from afresh.kube.certificate import client_context, make_key, pin_of_key, server_context
from afresh.kube.ha import report_proxy
from afresh.kube.http_message import MOST_HEAD, Answer, Request
from afresh.kube.listener import Limits, Listener
from afresh.kube.operator import METRICS_LIMITS

MIB = 1024 * 1024
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n"
LARGE = b"x" * MIB


async def echo(request: Request) -> Answer:
    return Answer(200, request.body or b"nothing")


async def large(_: Request) -> Answer:
    return Answer(200, LARGE)


async def broken(_: Request) -> Answer:
    raise KeyError("a bug")


async def never(request: Request) -> Answer:
    unanswered.append(request)
    await asyncio.Event().wait()
    raise AssertionError("nothing sets it")


unanswered: list[Request] = []
ROUTES = {
    "/": {"GET": echo, "POST": echo},
    "/large": {"GET": large},
    "/broken": {"GET": broken},
    "/never": {"GET": never},
}


@asynccontextmanager
async def listening(limits: Limits, key: str | None = None) -> AsyncIterator[int]:
    context = server_context(key) if key else None
    listener = Listener(ROUTES, limits, (lambda: context) if context else None, name="report")
    port = listener.open(0, "127.0.0.1")
    try:
        yield port
    finally:
        await listener.close()


@asynccontextmanager
async def connected(
    port: int, host: str = "127.0.0.1", context: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection from an address; by TLS if there is a context."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, local_addr=(host, 0), ssl=context
    )
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def rest(reader: asyncio.StreamReader) -> bytes:
    """Return what comes until the end; cut off counts as the end."""
    answer = b""
    with contextlib.suppress(ConnectionError):
        while part := await reader.read(65536):
            answer += part
    return answer


async def talk(port: int, sent: bytes, *, end: bool = False, host: str = "127.0.0.1") -> bytes:
    """Send these bytes, and return what comes; nothing where the connection is refused."""
    with contextlib.suppress(ConnectionError):
        async with connected(port, host) as (reader, writer):
            writer.write(sent)
            if end:
                writer.write_eof()
            return await rest(reader)
    return b""


@pytest.mark.parametrize(
    ("sent", "want"),
    [
        pytest.param(GET, 200, id="a request"),
        pytest.param(POST + b"hello", 200, id="a body"),
        pytest.param(GET.replace(b"/ ", b"/?a=b "), 200, id="a query"),
        pytest.param(GET.replace(b"/ ", b"/none "), 404, id="another path"),
        pytest.param(GET.replace(b"GET", b"PUT"), 405, id="another method"),
        pytest.param(GET.replace(b"/ ", b"/broken "), 500, id="a bug behind it"),
        pytest.param(POST.replace(b"5", b"9999"), 413, id="too long a body"),
        pytest.param(b"G" * MOST_HEAD, 431, id="a head without end"),
        pytest.param(b"\x16\x03\x01\r\n\r\n", 400, id="noise"),
    ],
)
async def test_a_request_is_answered_and_the_connection_ends(sent: bytes, want: int) -> None:
    async with listening(Limits(body=64)) as port:
        answer = await talk(port, sent)

    assert answer.startswith(b"HTTP/1.1 %d " % want)
    assert b"\r\nConnection: close\r\n" in answer


async def test_of_several_requests_in_a_row_the_first_alone_is_answered() -> None:
    async with listening(Limits(body=64)) as port:
        answer = await talk(port, POST + b"first" + POST + b"again", end=True)

    assert answer.count(b"HTTP/1.1") == 1
    assert answer.endswith(b"first")


async def test_a_client_that_says_that_it_is_done_is_answered_if_its_request_is_whole() -> None:
    async with listening(Limits(body=64)) as port:
        whole = await talk(port, POST + b"hello", end=True)
        half = await talk(port, POST + b"hell", end=True)

    assert whole.endswith(b"hello")
    assert half == b""


async def test_a_long_answer_is_sent_whole() -> None:
    key = await make_key()
    async with listening(Limits()) as clear, listening(Limits(), key) as secret:
        answer = await talk(clear, GET.replace(b"/ ", b"/large "))
        async with connected(secret, context=client_context()) as (reader, writer):
            writer.write(GET.replace(b"/ ", b"/large "))
            by_tls = await rest(reader)

    assert answer == by_tls
    assert answer.endswith(LARGE)


async def test_a_request_or_an_answer_that_takes_too_long_is_cut_off() -> None:
    async with listening(Limits(read_seconds=0.2, answer_seconds=0.2)) as port:
        slow = await talk(port, GET[:-1])
        endless = await talk(port, GET.replace(b"/ ", b"/never "))

    assert (slow, endless) == (b"", b"")


async def test_an_address_has_its_share_and_another_address_is_answered() -> None:
    async with listening(Limits(of_one_address=2)) as port, connected(port), connected(port):
        refused = await talk(port, GET)
        other = await talk(port, GET, host="127.0.0.2")

    assert refused == b""
    assert other.startswith(b"HTTP/1.1 200 ")


async def test_where_every_place_is_taken_the_busiest_address_gives_up_its_oldest() -> None:
    async with (
        listening(Limits(connections=4, of_one_address=3)) as port,
        connected(port) as (oldest, _), connected(port), connected(port) as (_, newest),
        connected(port, "127.0.0.3") as (reader, writer),
    ):  # fmt: skip
        answer = await talk(port, GET, host="127.0.0.2")
        given_up = await rest(oldest)
        writer.write(GET)
        other = await rest(reader)
        kept = not newest.is_closing()

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert (given_up, kept) == (b"", True)
    assert other.startswith(b"HTTP/1.1 200 ")


async def test_answers_that_take_long_keep_no_place_from_another_address() -> None:
    async with (
        listening(Limits(connections=2)) as port,
        connected(port) as (_, first), connected(port) as (_, second),
    ):  # fmt: skip
        unanswered.clear()
        for writer in (first, second):
            writer.write(GET.replace(b"/ ", b"/never "))
        while len(unanswered) < 2:
            await asyncio.sleep(0)
        answers = [await talk(port, GET, host="127.0.0.2") for _ in range(2)]

    assert [answer[:12] for answer in answers] == [b"HTTP/1.1 200"] * 2


async def test_where_each_address_has_one_place_the_oldest_is_given_up() -> None:
    async with (
        listening(Limits(connections=2)) as port,
        connected(port) as (oldest, _), connected(port, "127.0.0.3"),
    ):  # fmt: skip
        answer = await talk(port, GET, host="127.0.0.2")
        given_up = await rest(oldest)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert given_up == b""


async def test_tls_is_of_the_newest_version_and_has_the_certificate_that_is_pinned() -> None:
    key = await make_key()
    async with (
        listening(Limits(body=64), key) as port,
        connected(port, context=client_context()) as (reader, writer),
    ):
        certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.write(build_request("a", "/", "Bearer t", b"hello"))
        answer = await rest(reader)

    assert pin_of(certificate) == pin_of_key(key)
    assert answer.endswith(b"hello")


async def test_no_tls_and_old_tls_are_answered_by_the_end() -> None:
    old = client_context()
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_2
    async with listening(Limits(), await make_key()) as port:
        clear = await talk(port, GET)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.open_connection("127.0.0.1", port, ssl=old)

    assert b"HTTP" not in clear


async def test_records_without_end_are_cut_off_though_they_hold_little() -> None:
    limits = Limits(read_seconds=600)
    async with (
        listening(limits, await make_key()) as port,
        connected(port, context=client_context()) as (reader, writer),
    ):
        for _ in range(limits.received // 20):  # one byte in each, of 23
            writer.write(b"a")
        answer = await rest(reader)

    assert answer == b""


def test_a_listener_on_all_addresses_has_those_of_both_families() -> None:
    async def answers() -> set[int]:
        listener = Listener(ROUTES, Limits(), name="report")
        port = listener.open(0)
        with socket.create_connection(("127.0.0.1", port)) as sock:
            families = {sock.family}
        if socket.has_dualstack_ipv6():
            with socket.create_connection(("::1", port)) as sock:
                families.add(sock.family)
        await listener.close()
        return set(families)

    families = asyncio.run(answers())

    assert families >= {socket.AF_INET}


def test_all_connections_together_take_less_than_32_mebibytes() -> None:
    leads = report_server.LIMITS.most_bytes + METRICS_LIMITS.most_bytes
    stands_by = report_proxy.LIMITS.most_bytes + METRICS_LIMITS.most_bytes

    assert leads < 32 * MIB
    assert stands_by < 32 * MIB - report_proxy.MOST_PASSED_ON * 128 * 1024

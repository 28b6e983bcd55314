"""What the gateway makes of requests that two readers could understand differently.

The providers answer before they read, and keep their connections: whatever of a request is missing,
they take from the next one.
"""

import asyncio
import gzip
import itertools
import json
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from afresh.episode.gateway.bounds import ConnectionPatience
from tests.episode.eager_upstreams import (
    MARK,
    REFUSE,
    Eager,
    NginxLog,
    Seen,
    Start,
    aiohttps,
    literal,
    nginxs,
    nodes,
)
from tests.episode.gateway_client import KEY, MESSAGES, make_gateway

BODY = b'{"model":"claude-x","text":"' + b"y" * 40 + b'"}'
FILES = "POST /v1/files HTTP/1.1"
MANY = 1_000_000
PATIENCE = ConnectionPatience(head=1, body=1, end=1)


@asynccontextmanager
async def gateway_to(
    eager: Eager, patience: ConnectionPatience = PATIENCE
) -> AsyncIterator[tuple[str, int]]:
    """Run a gateway; give its address."""
    gateway = make_gateway(eager.url, max_turns=MANY, patience=patience)
    gateway.open()
    host, port = gateway.url.removeprefix("http://").split(":")
    try:
        yield host, int(port)
    finally:
        await asyncio.to_thread(gateway.close)


async def say(address: tuple[str, int], *pieces: bytes) -> bytes:
    """Send by a connection of its own; return what comes back until it is an answer, or the end."""
    reader, writer = await asyncio.open_connection(*address)
    heard = b""
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        while not is_answer(heard) and (data := await reader.read(1 << 16)):
            heard += data
    except ConnectionError:
        pass
    finally:
        writer.transport.abort()
    return heard


def is_answer(heard: bytes) -> bool:
    head, end, body = heard.partition(b"\r\n\r\n")
    if not end:
        return False
    if b"transfer-encoding: chunked" in head.lower():
        return body.endswith(b"0\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return bool(lengths) and len(body) >= int(lengths[0].split(b":")[1])


def request(*fields: str, body: bytes = BODY, line: str = f"POST {MESSAGES} HTTP/1.1") -> bytes:
    return "\r\n".join((line, "Host: x", *fields, "", "")).encode("latin-1") + body


def plain(*fields: str, body: bytes = BODY) -> bytes:
    return request(*fields, f"Content-Length: {len(body)}", body=body)


def padded(missing: int, plain_text: bytes = BODY) -> bytes:
    """Compress a text so that it is so many bytes longer: a gzip file has room for a name."""
    short = gzip.compress(plain_text, mtime=0)
    name = b"n" * (len(plain_text) + missing - len(short) - 1) + b"\0"
    long = short[:3] + b"\x08" + short[4:10] + name + short[10:]
    assert gzip.decompress(long) == plain_text
    assert len(long) == len(plain_text) + missing
    return long


async def head_of(eager: Eager, address: tuple[str, int], sent: bytes) -> bytes:
    """Return the head that reaches the provider for a request that passes."""
    await say(address, sent)
    seen = eager.seen.pop()
    lines = [f"{seen.method} {seen.url} HTTP/1.1", *(f"{k}: {v}" for k, v in seen.headers)]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def assert_ours(seen: Sequence[Seen], bodies: set[bytes] | None = None) -> None:
    """Every request is one of the gateway's own: a path of the API, and one key, in its place."""
    for asked in seen:
        assert (asked.method, asked.url) == ("POST", MESSAGES)
        assert asked.values("x-api-key") == [KEY]
        assert asked.values("transfer-encoding") == []
        assert asked.values("content-length") == [str(len(asked.body))]
        assert KEY.encode() not in asked.body
        assert bodies is None or asked.body in bodies


@pytest.mark.parametrize("agent", ["cli", REFUSE], ids=["it succeeds", "it is refused"])
async def test_compressed_body_takes_no_head_of_the_next_request_for_its_missing_bytes(
    agent: str, tmp_path: Path
):
    """The next request's head would end where the agent says that another one begins."""
    async with literal(tmp_path) as eager, gateway_to(eager) as address:
        hidden = plain(f"anthropic-beta: {FILES}", f"User-Agent: {agent}")
        head = await head_of(eager, address, hidden)
        body = padded(head.index(FILES.encode()))
        first = plain("Content-Encoding: gzip", f"User-Agent: {agent}", body=body)
        received = await say(address, first)
        await say(address, hidden)
        await say(address, plain())

    assert received.startswith(b"HTTP/1.1 400 ")
    assert_ours(eager.seen, {BODY})
    assert len(eager.seen) == 2
    assert eager.broken == []


async def test_key_of_the_runner_becomes_no_body_of_a_request_with_the_agents_own_key(
    tmp_path: Path,
):
    """The rest of one head is missing bytes, and its body a request that wants more of them."""
    async with literal(tmp_path) as eager, gateway_to(eager) as address:
        text = request("x-api-key: mine", "Content-Length: 150", body=b"").decode()
        stolen = json.dumps({"text": text}, separators=(",", ":")).encode()
        head = await head_of(eager, address, plain(body=stolen))
        await say(address, plain("Content-Encoding: gzip", body=padded(len(head))))
        await say(address, plain(body=stolen))
        await say(address, plain())

    assert_ours(eager.seen, {BODY, stolen})
    assert eager.broken == []


LENGTHS = {
    "none": (),
    "right": ("Content-Length: {n}",),
    "one more": ("Content-Length: {more}",),
    "one less": ("Content-Length: {less}",),
    "zero": ("Content-Length: 0",),
    "empty": ("Content-Length:",),
    "with a sign": ("Content-Length: +{n}",),
    "negative": ("Content-Length: -1",),
    "of another base": ("Content-Length: 0x{n}",),
    "with zeros": ("Content-Length: 000{n}",),
    "a list": ("Content-Length: {n}, {n}",),
    "twice": ("Content-Length: {n}", "Content-Length: {n}"),
    "two": ("Content-Length: {less}", "Content-Length: {n}"),
    "before a colon": ("Content-Length : {n}",),
    "with an odd space": ("Content-Length:\x0b{n}",),
    "folded": ("Content-Length:", " {n}"),
    "huge": ("Content-Length: 99999999999999999999",),
    "too large": ("Content-Length: 16777217",),
}
CODINGS = {
    "none": (),
    "chunked": ("Transfer-Encoding: chunked",),
    "in capitals": ("Transfer-Encoding: CHUNKED",),
    "identity": ("Transfer-Encoding: identity",),
    "a list": ("Transfer-Encoding: gzip, chunked",),
    "chunked twice": ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
    "and another": ("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
    "quoted": ('Transfer-Encoding: "chunked"',),
    "nearly chunked": ("Transfer-Encoding: xchunked",),
    "with an odd space": ("Transfer-Encoding:\x0bchunked",),
    "before a colon": ("Transfer-Encoding : chunked",),
    "folded": ("Transfer-Encoding:", "\tchunked"),
    "hidden in a value": ("X: y\nTransfer-Encoding: chunked",),
    "with an underscore": ("Transfer_Encoding: chunked",),
}
NEXT = request("x-api-key: mine", "Content-Length: 0", body=b"", line=FILES)
SIZE = b"%x" % len(BODY)
BODIES = {
    "plain": BODY,
    "none": b"",
    "in chunks": b"%b\r\n%b\r\n0\r\n\r\n" % (SIZE, BODY),
    "in two chunks": b"%x\r\n%b\r\n1\r\n}\r\n0\r\n\r\n" % (len(BODY) - 1, BODY[:-1]),
    "chunks that extend": b"%b;a=b\r\n%b\r\n0\r\n\r\n" % (SIZE, BODY),
    "chunks with more at the end": b"%b\r\n%b\r\n0\r\nX-Api-Key: mine\r\n\r\n" % (SIZE, BODY),
    "chunks in other lines": b"%b\n%b\n0\n\n" % (SIZE, BODY),
    "chunks of a sign": b"+%b\r\n%b\r\n0\r\n\r\n" % (SIZE, BODY),
    "chunks without an end": b"%b\r\n%b\r\n" % (SIZE, BODY),
    "a chunk that is longer": b"%b\r\n%by\r\n0\r\n\r\n" % (SIZE, BODY),
    "chunks of huge size": b"fffffffffffffff1\r\n%b\r\n0\r\n\r\n" % BODY,
    "compressed": padded(7),
    "another request behind": BODY + NEXT,
    "another request behind chunks": b"%b\r\n%b\r\n0\r\n\r\n" % (SIZE, BODY) + NEXT,
}
OTHERS = {
    "nothing": (),
    "compressed": ("Content-Encoding: gzip",),
    "not compressed": ("Content-Encoding: identity",),
    "compressed in disguise": ("Content-Encoding: identity, gzip",),
    "expecting": ("Expect: 100-continue",),
    "upgrading": ("Connection: Upgrade", "Upgrade: h2c"),
    "closing": ("Connection: close",),
    "naming the length": ("Connection: close, Content-Length",),
    "naming the key": ("Connection: x-api-key",),
    "another host": ("Host: y",),
    "with a key": ("x-api-key: mine", "Authorization: Bearer mine"),
    "zero byte": ("X: \0",),
    "carriage return": ("X: \rContent-Length: 1",),
    "not ASCII": ("X-\xe9: 1",),
    "no colon": ("X",),
    "trailers": ("Trailer: Content-Length", "TE: trailers"),
    "another method": ("X-HTTP-Method-Override: DELETE",),
    "another path": ("X-Original-URL: /v1/files", "X-Rewrite-URL: /v1/files"),
}
LINES = (
    *(8 * (f"POST {MESSAGES} HTTP/1.1",)),
    f"POST {MESSAGES} HTTP/1.0",
    f"POST {MESSAGES} HTTP/1.2",
    f"POST {MESSAGES}",
    f"POST  {MESSAGES} HTTP/1.1",
    f"POST http://x{MESSAGES} HTTP/1.1",
    f"POST {MESSAGES}?a=b HTTP/1.1\r\nX: HTTP/1.1",
    f"POST {MESSAGES}#{FILES} HTTP/1.1",
    f"\r\nPOST {MESSAGES} HTTP/1.1",
    f"post {MESSAGES} HTTP/1.1",
)


def framings() -> list[bytes]:
    """All lengths with all codings and all bodies; what else there may be comes by chance."""
    chance = random.Random(7)
    sent = []
    for length, coding, body in itertools.product(
        LENGTHS.values(), CODINGS.values(), BODIES.values()
    ):
        n = len(body)
        sizes = {"n": n, "more": n + 1, "less": max(n - 1, 0)}
        fields = [field.format(**sizes) for field in length] + list(coding)
        if chance.random() < 0.5:
            fields.extend(chance.choice(list(OTHERS.values())))
        if chance.random() < 0.3:
            fields.append(f"User-Agent: {REFUSE}")
        line = chance.choice(LINES) if chance.random() < 0.3 else LINES[0]
        sent.append(request(*fields, body=body, line=line))
    chance.shuffle(sent)
    return sent


def cut(data: bytes, chance: random.Random) -> list[bytes]:
    """Cut what is sent, anywhere."""
    where = sorted(chance.sample(range(1, len(data)), chance.choice((0, 1, 2))))
    return [data[a:b] for a, b in itertools.pairwise((0, *where, len(data)))]


@pytest.mark.parametrize("start", [literal, aiohttps, nodes, nginxs], ids=lambda s: s.__name__)
async def test_provider_sees_one_well_formed_request_for_each_that_passes_and_nothing_else(
    start: Start, tmp_path: Path
):
    at_once, chance = asyncio.Semaphore(48), random.Random(11)

    async def received(sent: bytes) -> bytes:
        async with at_once:
            return await say(address, *cut(sent, chance))

    async with start(tmp_path) as eager, gateway_to(eager) as address:
        answers = await asyncio.gather(*map(received, framings()))
        passed = sum(MARK.encode() in answer for answer in answers)
        last = await say(address, plain())
        async with asyncio.timeout(60):
            while len(eager.seen) <= passed:
                if isinstance(eager, NginxLog):
                    eager.read()
                await asyncio.sleep(0.01)

    assert MARK.encode() in last
    assert eager.broken == []
    assert len(eager.seen) == passed + 1
    assert passed > 30  # what is no JSON object is refused
    assert_ours(eager.seen)

"""Heads of an agent's requests: what has one meaning for everybody is read, the rest is refused."""

import pytest

from afresh.episode.gateway import request_head
from afresh.episode.gateway.request_head import Refused, read_head

LINE = b"POST /v1/messages HTTP/1.1"
HOST = b"Host: model"


def head(*fields: bytes, line: bytes = LINE) -> bytes:
    return b"\r\n".join((line, HOST, *fields))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([b"Content-Encoding: gzip"], request_head.NOT_PLAIN),
        ([b"content-encoding: identity, gzip"], request_head.NOT_PLAIN),
        ([b"Content-Encoding:"], request_head.NOT_PLAIN),
        ([b"Content-Length: 1", b"Content-Length: 1"], request_head.TWICE),
        ([b"Transfer-Encoding: chunked", b"transfer-encoding: chunked"], request_head.TWICE),
        ([b"User-Agent: a", b"User-Agent: b"], request_head.TWICE),
        ([b"Host: another"], request_head.TWICE),
        ([b"Content-Length: 1", b"Transfer-Encoding: chunked"], request_head.ODD_LENGTH),
        ([b"Content-Length: +1"], request_head.ODD_LENGTH),
        ([b"Content-Length: 1, 1"], request_head.ODD_LENGTH),
        ([b"Content-Length: 0x1"], request_head.ODD_LENGTH),
        ([b"Content-Length:"], request_head.ODD_LENGTH),
        ([b"Transfer-Encoding: gzip, chunked"], request_head.ODD_CODING),
        ([b"Transfer-Encoding: identity"], request_head.ODD_CODING),
        ([b"Transfer-Encoding:"], request_head.ODD_CODING),
        ([b"Transfer-Encoding : chunked"], request_head.ODD_FIELD),
        ([b"A: b\nContent-Length: 1"], request_head.ODD_FIELD),
        ([b"A: b\rContent-Length: 1"], request_head.ODD_FIELD),
        ([b" folded"], request_head.ODD_FIELD),
        ([b"A: \x00"], request_head.ODD_FIELD),
        ([b"A: \xe4"], request_head.ODD_FIELD),
        ([b"A\xe4: b"], request_head.ODD_FIELD),
        ([b""], request_head.ODD_FIELD),
        ([b"Expect: 100-continue"], request_head.NO_EXPECTATION),
        ([b"Connection: x-api-key"], request_head.ODD_CONNECTION),
        ([b"Connection: upgrade"], request_head.ODD_CONNECTION),
        ([b"Upgrade: h2c"], request_head.ODD_CONNECTION),
        ([b"A%d: b" % number for number in range(64)], request_head.TOO_MANY_FIELDS),
        ([b"A: " + b"b" * 8192], request_head.TOO_MANY_FIELDS),
    ],
)
def test_a_field_that_two_readers_may_take_differently_is_refused(
    fields: list[bytes], message: str
) -> None:
    with pytest.raises(Refused) as refused:
        read_head(head(*fields))

    assert str(refused.value) == message


@pytest.mark.parametrize(
    "line",
    [
        b"POST  /v1/messages HTTP/1.1",
        b"POST /v1/messages HTTP/1.0",
        b"POST /v1/messages HTTP/1.1 ",
        b"POST /v1/messages",
        b"post /v1/messages HTTP/1.1",
        b"POST http://another/v1/messages HTTP/1.1",
        b"POST /v1/messages#a HTTP/1.1",
        b"POST /v1\\messages HTTP/1.1",
        b"POST /v1/messages\xe4 HTTP/1.1",
        b"POST /v1/messages\t HTTP/1.1",
        b"CONNECT model:443 HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
        b"",
    ],
)
def test_a_first_line_of_another_form_is_refused(line: bytes) -> None:
    with pytest.raises(Refused, match=request_head.NO_REQUEST):
        read_head(head(line=line))


@pytest.mark.parametrize("field", [b"Content-Length: 1", b"Transfer-Encoding: chunked"])
@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
def test_a_method_without_a_body_has_none(method: bytes, field: bytes) -> None:
    with pytest.raises(Refused, match=request_head.NO_BODY):
        read_head(head(field, line=method + b" / HTTP/1.1"))


def test_a_host_is_named() -> None:
    with pytest.raises(Refused, match=request_head.NO_HOST):
        read_head(LINE)


@pytest.mark.parametrize(
    ("fields", "length"),
    [
        ([], 0),
        ([b"Content-Length: 12", b"Content-Encoding: Identity"], 12),
        ([b"Transfer-Encoding: Chunked"], None),
    ],
)
def test_a_plain_head_says_how_long_the_body_is(fields: list[bytes], length: int | None) -> None:
    found = read_head(head(*fields, b"Connection: keep-alive, close", b"a-beta: 1", b"a-beta: 2"))

    assert (found.length, found.is_last, found.headers["a-beta"]) == (length, True, "1, 2")

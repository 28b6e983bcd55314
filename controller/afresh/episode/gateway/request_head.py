"""Reads the head of an agent's request, and accepts only what every reader understands alike.

Owns the grammar: a small part of HTTP/1.1, without the forms that two readers may understand
differently. Pure: it gets the bytes of a head, and knows neither sockets nor the provider.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

LINE_LIMIT = 4 << 10
FIELD_LIMIT = 8 << 10
FIELDS = 64
CHUNKED = "chunked"

_LINE = re.compile(
    rb"(?P<method>[A-Z]{1,16}) (?P<path>/[\w.~!$&'()*+,;=:@%/-]*)"
    rb"(?:\?(?P<query>[\w.~!$&'()*+,;=:@%/?-]*))? HTTP/1\.1"
)
_FIELD = re.compile(rb"([\w!#$%&'*+.^`|~-]+):[ \t]*([\t -~]*)", re.ASCII)
_DIGITS = re.compile(r"[0-9]{1,15}", re.ASCII)
# Headers that may occur more than once; their values are joined to one list.
_LISTS = re.compile(r"accept|accept-(language|encoding)|[a-z]+-beta")
_KEPT = frozenset({"keep-alive", "close"})
_WITHOUT_BODY = frozenset({"GET", "HEAD"})

NO_REQUEST = "The request is not an HTTP/1.1 request."
ODD_FIELD = "A header of the request has a form that is not accepted."
TWICE = "The request has a header twice."
NO_HOST = "The request must name one host."
NOT_PLAIN = "The request must not have a Content-Encoding."
ODD_LENGTH = "The length of the request is not clear."
ODD_CODING = "The request must have a Content-Length or be chunked."
ODD_CONNECTION = "The request must not ask for another protocol, or for headers to be dropped."
NO_EXPECTATION = "The request must not wait for an interim answer."
NO_BODY = "A request of this method must not have a body."
TOO_MANY_FIELDS = "The request has too many or too long headers."


class Refused(Exception):  # noqa: N818  # an answer to the agent
    """The request is refused. The argument is the message, `status` the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The part of a request before its body. Names of headers are in lower case.

    `length` is that of the body in bytes; None if the body is chunked. `is_last`: the connection
    ends after this request.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    length: int | None
    is_last: bool


# Stands for the head of a request whose head is refused.
UNREAD_HEAD = Head(method="", path="", query="", headers={}, length=None, is_last=True)


def read_head(data: bytes) -> Head:
    """Parse `data`, a head without the empty line at its end. Raises Refused."""
    line, *fields = data.split(b"\r\n")
    if len(line) > LINE_LIMIT:
        raise Refused(414, TOO_MANY_FIELDS)
    found = _LINE.fullmatch(line)
    if not found:
        raise Refused(400, NO_REQUEST)
    headers = _headers_of(fields)
    if "host" not in headers:
        raise Refused(400, NO_HOST)
    length = _length_of(headers)
    method = found["method"].decode()
    if method in _WITHOUT_BODY and length != 0:
        raise Refused(400, NO_BODY)
    return Head(
        method=method,
        path=found["path"].decode(),
        query=(found["query"] or b"").decode(),
        headers=headers,
        length=length,
        is_last=_is_last(headers),
    )


def _headers_of(fields: list[bytes]) -> dict[str, str]:
    if len(fields) > FIELDS or any(len(field) > FIELD_LIMIT for field in fields):
        raise Refused(431, TOO_MANY_FIELDS)
    headers: dict[str, str] = {}
    for field in fields:
        found = _FIELD.fullmatch(field)
        if not found:
            raise Refused(400, ODD_FIELD)
        name, value = found[1].decode().lower(), found[2].decode().rstrip(" \t")
        if name not in headers:
            headers[name] = value
        elif _LISTS.fullmatch(name):
            headers[name] = f"{headers[name]}, {value}"
        else:
            raise Refused(400, TWICE)
    return headers


def _length_of(headers: Mapping[str, str]) -> int | None:
    """Return the length of the body, which must be stated in one way only. Raises Refused."""
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refused(400, NOT_PLAIN)
    if "expect" in headers:
        raise Refused(417, NO_EXPECTATION)
    length, coding = headers.get("content-length"), headers.get("transfer-encoding")
    if coding is not None:
        if coding.lower() != CHUNKED:
            raise Refused(501, ODD_CODING)
        if length is not None:
            raise Refused(400, ODD_LENGTH)
        return None
    if length is None:
        return 0
    if not _DIGITS.fullmatch(length):
        raise Refused(400, ODD_LENGTH)
    return int(length)


def _is_last(headers: Mapping[str, str]) -> bool:
    """Whether the connection ends with this request. Raises Refused if it asks for an upgrade."""
    named = {name.strip().lower() for name in headers.get("connection", "keep-alive").split(",")}
    if "upgrade" in headers or not named <= _KEPT:
        raise Refused(400, ODD_CONNECTION)
    return "close" in named

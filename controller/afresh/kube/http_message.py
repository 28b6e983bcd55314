"""HTTP/1.1 for the operator's listeners: one small request and one response per connection.

This module owns the bytes of message heads and their limits. It does not know sockets, TLS or time.
"""

import json
import re
from dataclasses import dataclass
from http import HTTPStatus

MOST_HEAD = 8192
MOST_LINE = 6144
MOST_FIELDS = 64
_REQUEST_LINE = re.compile(rb"([A-Z]{1,16}) (/[!-~]*) HTTP/1\.[01]")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
# Fields that must occur at most once: they define where a request ends and who sends it.
_ONCE = ("authorization", "content-length", "host", "transfer-encoding")


class RequestError(Exception):
    """A request is refused; the error has the status code and a sentence with the cause."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """A request. The names of its fields are in lower case; its path has no query."""

    method: str
    path: str
    fields: dict[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response with a body, and the body's media type."""

    status: int
    body: bytes
    media_type: str = "text/plain; charset=utf-8"

    def head(self) -> bytes:
        """Return the bytes before the body."""
        return (
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}\r\n"
            f"Content-Type: {self.media_type}\r\n"
            f"Content-Length: {len(self.body)}\r\n"
            "Connection: close\r\n\r\n"
        ).encode()


def message(status: int, text: str) -> Answer:
    """Return a response with the sentence `text` as JSON."""
    return Answer(status, json.dumps({"message": text}).encode(), "application/json; charset=utf-8")


def parse_head(head: bytes) -> Request:
    """Parse the head of a request. Raises RequestError."""
    first, *lines = head.split(b"\r\n")
    if len(lines) > MOST_FIELDS or max(map(len, (first, *lines))) > MOST_LINE:
        raise RequestError(431, "the request has too many fields, or a line that is too long")
    start = _REQUEST_LINE.fullmatch(first)
    if start is None:
        raise RequestError(400, "the first line is not METHOD PATH HTTP/1.1")
    fields: dict[str, str] = {}
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is None:
            raise RequestError(400, "a line of the head is not NAME: VALUE")
        name = field.group(1).decode().lower()
        if name in _ONCE and name in fields:
            raise RequestError(400, f"the field {name} is there twice")
        fields[name] = field.group(2).decode("latin-1").rstrip(" \t")
    path = start.group(2).decode().partition("?")[0]
    return Request(start.group(1).decode(), path, fields)


def length_of_body(request: Request, *, most: int) -> int:
    """Return the length of the body. Raises RequestError if it is invalid or not supported."""
    if "transfer-encoding" in request.fields:
        raise RequestError(501, "a body must have a Content-Length and no Transfer-Encoding")
    if request.fields.get("content-encoding", "identity") != "identity":
        raise RequestError(415, "a body must not be compressed")
    said = request.fields.get("content-length", "0")
    if not re.fullmatch("[0-9]{1,12}", said, re.ASCII):
        raise RequestError(400, "Content-Length is not a number")
    if int(said) > most:
        raise RequestError(413, f"the body is longer than {most} bytes")
    return int(said)

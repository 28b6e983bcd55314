"""One request of the agent: its head, its body, and the answer to it.

Owns the framing in both directions. A body is read completely before it is used, and an answer gets
new framing: no length that one side states is passed on to the other.
"""

import asyncio
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Protocol

from afresh.episode.gateway.request_head import Head, Refused

JSON = {"Content-Type": "application/json"}
TOO_SLOW = "The request did not arrive in time."
TOO_LARGE = "The request is too large."
ODD_CHUNK = "The request's chunks have a form that is not accepted."
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,8}")
_SIZE_LIMIT = 8
_WITHOUT_BODY = frozenset({204, 304})


class HungUp(Exception):  # noqa: N818  # not an error
    """The agent has closed the connection. The work for its request is cancelled, too."""


class Wire(Protocol):
    """The connection on which a request arrived."""

    async def take(self, most: int) -> bytes:
        """Wait for data; return at least one byte and at most `most` bytes."""
        ...

    async def take_until(self, end: bytes, most: int) -> bytes | None:
        """Return the bytes before `end`, and skip `end`; None if they are more than `most`."""
        ...

    def end_request(self) -> None:
        """Note that the whole request was read: what arrives before its answer is dropped."""
        ...

    async def write(self, data: bytes) -> None:
        """Send `data`, as fast as the agent reads. Raises HungUp."""
        ...

    def abort(self) -> None:
        """Close the connection immediately."""
        ...


class AgentRequest:
    """One request: first its body is read, then it is answered. `seconds` limit the reading."""

    def __init__(self, wire: Wire, head: Head, seconds: float) -> None:
        self._wire = wire
        self._seconds = seconds
        self._in_chunks = False
        self.head = head
        self.is_read = head.length == 0
        self.is_answered = False
        if self.is_read:
            wire.end_request()

    @property
    def is_over(self) -> bool:
        """Whether another request may follow on the same connection."""
        return self.is_read and self.is_answered and not self.head.is_last

    async def body(self, limit: int) -> bytes:
        """Read the whole body, of at most `limit` bytes. Raises Refused."""
        try:
            async with asyncio.timeout(self._seconds):
                if self.head.length is None:
                    body = await self._chunks(limit)
                else:
                    body = await self._exactly(self.head.length, limit)
        except TimeoutError as error:
            raise Refused(408, TOO_SLOW) from error
        self.is_read = True
        self._wire.end_request()
        return body

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Start an answer of unknown length."""
        self._in_chunks = status not in _WITHOUT_BODY and self.head.method != "HEAD"
        coding = {"Transfer-Encoding": "chunked"} if self._in_chunks else {}
        await self._wire.write(self._answer_head(status, {**headers, **coding}))

    async def write(self, data: bytes) -> None:
        """Send a piece of the answer."""
        if self._in_chunks and data:
            await self._wire.write(b"%x\r\n%b\r\n" % (len(data), data))

    async def end(self) -> None:
        """End the answer."""
        if self._in_chunks:
            await self._wire.write(b"0\r\n\r\n")
        self.is_answered = True

    async def answer(self, status: int, body: bytes, headers: Mapping[str, str] = JSON) -> None:
        """Send a whole answer."""
        if status in _WITHOUT_BODY:
            body, length = b"", {}
        else:
            length = {"Content-Length": str(len(body))}
        shown = b"" if self.head.method == "HEAD" else body
        await self._wire.write(self._answer_head(status, {**headers, **length}) + shown)
        self.is_answered = True

    def break_off(self) -> None:
        """Close the connection, so that the agent sees that the answer is incomplete."""
        self._wire.abort()

    def _answer_head(self, status: int, headers: Mapping[str, str]) -> bytes:
        is_last = self.head.is_last or not self.is_read
        whole = {**headers, "Connection": "close" if is_last else "keep-alive"}
        lines = [f"{name}: {value}\r\n" for name, value in whole.items()]
        try:
            phrase = HTTPStatus(status).phrase
        except ValueError:
            phrase = ""
        return f"HTTP/1.1 {status} {phrase}\r\n{''.join(lines)}\r\n".encode("latin-1", "replace")

    async def _exactly(self, length: int, limit: int) -> bytes:
        if length > limit:
            raise Refused(413, TOO_LARGE)
        body = bytearray()
        while len(body) < length:
            body += await self._wire.take(length - len(body))
        return bytes(body)

    async def _chunks(self, limit: int) -> bytes:
        """Read a chunked body without chunk extensions and without trailer fields."""
        body = bytearray()
        while size := await self._chunk_size():
            if len(body) + size > limit:
                raise Refused(413, TOO_LARGE)
            body += await self._exactly(size, limit)
            await self._end_of_chunk()
        await self._end_of_chunk()
        return bytes(body)

    async def _chunk_size(self) -> int:
        line = await self._wire.take_until(b"\r\n", _SIZE_LIMIT)
        if line is None or not _CHUNK_SIZE.fullmatch(line):
            raise Refused(400, ODD_CHUNK)
        return int(line, 16)

    async def _end_of_chunk(self) -> None:
        if await self._wire.take_until(b"\r\n", 0) is None:
            raise Refused(400, ODD_CHUNK)

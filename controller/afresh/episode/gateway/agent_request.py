"""One request of the agent's: its head, its body, and the answer to it.

Owns the framing of both directions. A body is read whole before anything is done with it, and an
answer is framed anew: nothing that either side says of lengths is passed on.
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
ODD_CHUNK = "The request's chunks have a form that does not pass."
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,8}")
_SIZE_LIMIT = 8
_WITHOUT_BODY = frozenset({204, 304})


class HungUp(Exception):  # noqa: N818  # nobody's error
    """The agent has gone. What works for it is cancelled, too."""


class Wire(Protocol):
    """The connection that a request came by."""

    async def take(self, most: int) -> bytes:
        """Return at least one byte and at most so many."""
        ...

    async def take_until(self, end: bytes, most: int) -> bytes | None:
        """Return what comes before `end`; None if that is longer than `most`."""
        ...

    def end_request(self) -> None:
        """Take in that the request is whole: nothing of what comes before its answer is kept."""
        ...

    async def write(self, data: bytes) -> None:
        """Send, as fast as the agent reads. Raises HungUp."""
        ...

    def abort(self) -> None:
        """Break the connection."""
        ...


class AgentRequest:
    """Is read first, and answered then."""

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
        """Whether another request may follow by the same connection."""
        return self.is_read and self.is_answered and not self.head.is_last

    async def body(self, limit: int) -> bytes:
        """Read the whole body. Raises Refused."""
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
        """Begin an answer of unknown length."""
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
        """Break the connection, so that the agent sees that the answer is not whole."""
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
        """Read chunks that carry nothing but data: no extensions, and no headers at the end."""
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

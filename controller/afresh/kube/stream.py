"""A connection, with TLS or without, that receives a bounded number of bytes.

This module implements TLS with its own buffers, because asyncio's TLS reserves 256 KiB for each
connection and reads as much ahead. Here a connection may send `most` bytes in total, including
handshakes, key updates and empty records.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
READ_BYTES = 4096
WRITE_BYTES = 16384


class TooMuchError(OSError):
    """The peer has sent more bytes than a connection may."""


class Stream:
    """A connected socket, from which at most `most` bytes are received."""

    def __init__(self, sock: socket.socket, most: int) -> None:
        # Small messages are sent at once; otherwise a handshake would wait 40 ms for an ACK.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._left = most

    async def open(self) -> None:
        """Prepare the connection before the first byte. Raises OSError."""

    async def receive(self) -> bytes:
        """Return some bytes; none at the end. Raises OSError."""
        data = await asyncio.get_running_loop().sock_recv(self._sock, READ_BYTES)
        self._left -= len(data)
        if self._left < 0:
            raise TooMuchError("more bytes than one connection may send")
        return data

    async def send(self, data: bytes) -> None:
        """Send all of `data`. Raises OSError."""
        await asyncio.get_running_loop().sock_sendall(self._sock, data)


class TlsStream(Stream):
    """A stream with TLS. The caller must check the server's `certificate`; this class does not."""

    def __init__(
        self, sock: socket.socket, most: int, context: ssl.SSLContext, *, server_side: bool
    ) -> None:
        super().__init__(sock, most)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=server_side)

    async def open(self) -> None:
        """Perform the TLS handshake."""
        await self._do(self._tls.do_handshake)

    async def receive(self) -> bytes:
        """Return some decrypted bytes; none at the end."""
        with contextlib.suppress(ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return await self._do(lambda: self._tls.read(READ_BYTES))
        return b""

    async def send(self, data: bytes) -> None:
        """Encrypt and send all of `data`, in pieces."""
        view = memoryview(data)
        for start in range(0, len(view), WRITE_BYTES):
            self._tls.write(view[start : start + WRITE_BYTES])
            await self._flush()

    def certificate(self) -> bytes:
        """Return the certificate of the other end, as DER."""
        return self._tls.getpeercert(binary_form=True) or b""

    async def _do(self, act: Callable[[], T]) -> T:
        """Run one TLS operation, and receive until it has enough bytes."""
        while True:
            try:
                done = act()
            except ssl.SSLWantReadError:
                await self._flush()
            else:
                await self._flush()
                return done
            data = await super().receive()
            if data:
                self._in.write(data)
            else:
                self._in.write_eof()

    async def _flush(self) -> None:
        if self._out.pending:
            await super().send(self._out.read())

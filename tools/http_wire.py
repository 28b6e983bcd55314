"""The common HTTP of both demo servers: bodies in pieces, chunked answers, secrets in files.

It must not know git, models or scripts.
"""

import hmac
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from pathlib import Path
from typing import NoReturn

ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 - a pod is reached from outside
PIECE_BYTES = 64 * 1024
IDLE_SECONDS = 300
_LINE_BYTES = 8 * 1024
_HEX = re.compile(rb"[0-9a-fA-F]{1,8}")


class BrokenBodyError(Exception):
    """The client's body ended early, or its framing is invalid."""


def body_pieces(headers: Message, stream: BufferedIOBase) -> Iterator[bytes]:
    """Yield a request's body in pieces of at most 64 KiB.

    Supports Content-Length and chunked transfer encoding; a request with neither has no body. After
    a BrokenBodyError the connection cannot be used for another request.
    """
    encoding = headers.get("transfer-encoding", "").strip().lower()
    if encoding == "chunked":
        return _chunks(stream)
    length = headers.get("content-length", "0").strip()
    if encoding or not (length.isascii() and length.isdigit()):
        raise BrokenBodyError("the request's body has neither a length nor chunks")
    return _exactly(stream, int(length))


def _exactly(stream: BufferedIOBase, count: int) -> Iterator[bytes]:
    while count > 0:
        piece = stream.read(min(count, PIECE_BYTES))
        if not piece:
            raise BrokenBodyError("the client went away in the middle of its request")
        count -= len(piece)
        yield piece


def _chunks(stream: BufferedIOBase) -> Iterator[bytes]:
    while size := _chunk_size(stream.readline(_LINE_BYTES)):
        yield from _exactly(stream, size)
        if stream.readline(_LINE_BYTES).strip():
            raise BrokenBodyError("a chunk is longer than it says")
    while stream.readline(_LINE_BYTES).strip():
        pass  # The servers need no trailer fields.


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    if not _HEX.fullmatch(digits):
        raise BrokenBodyError("a chunk does not say how long it is")
    return int(digits, 16)


def read_secret(path: Path) -> bytes:
    """Return the content of `path` without the line end that editors add."""
    return path.read_bytes().rstrip(b"\r\n")


def is_secret(given: bytes, path: Path) -> bool:
    """Return whether `given` is the secret in `path`; takes constant time.

    The file is read each time, so that a rotated Secret takes effect at once. An empty secret never
    matches.
    """
    secret = read_secret(path)
    return hmac.compare_digest(given, secret) and secret != b""


class WireHandler(BaseHTTPRequestHandler):
    """HTTP/1.1 with kept connections; subclasses answer with `answer` or with chunks."""

    protocol_version = "HTTP/1.1"
    server_version = "demo"
    sys_version = ""
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        """Send a whole answer."""
        self.start_answer(status, {**headers, "content-length": str(len(body))})
        if self.command != "HEAD":
            self.wfile.write(body)

    def start_answer(self, status: int, headers: dict[str, str]) -> None:
        """Send the status line and `headers`; the caller sends the body."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()

    def start_chunks(self, status: int, headers: dict[str, str]) -> None:
        """Begin an answer whose length is not known yet."""
        if self.request_version == "HTTP/1.0":
            self.close_connection = True
        else:
            headers = {**headers, "transfer-encoding": "chunked"}
        self.start_answer(status, headers)

    def send_chunk(self, piece: bytes) -> None:
        """Send one piece of the body; an empty one ends it."""
        if self.request_version == "HTTP/1.0":
            self.wfile.write(piece)
            return
        self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the inherited name
        """Print one line about a request, without its query, headers or body."""
        # A client's bytes must not control the terminal of a person who reads the log.
        line = "".join(char if char.isprintable() else "?" for char in format % args)
        print(f"{self.log_date_time_string()} {line}", flush=True)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:  # noqa: ARG002 - inherited
        """Log a request when its answer begins, except probes."""
        path = getattr(self, "path", "").partition("?")[0]
        if path != "/healthz":
            self.log_message("%s", f"{self.command} {path} {int(code)}")


class WireServer(ThreadingHTTPServer):
    """One thread for each connection; none of them keeps the process alive."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(
        self,
        request: socket.socket | tuple[bytes, socket.socket],
        client_address: object,
    ) -> None:
        """Ignore clients that closed the connection; report any other error."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError | BrokenBodyError):
            super().handle_error(request, client_address)


def serve_until_term(server: WireServer) -> None:
    """Print the address and serve; SIGTERM and SIGINT end the process at once, with exit code 0."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    host, port = server.server_address[:2]
    print(f"listening on {host!s}:{port}", flush=True)
    server.serve_forever()


def _leave(_number: int, _frame: object) -> NoReturn:
    # Not SystemExit: its cleanup could wait for a thread that is writing to the log.
    os._exit(0)

"""What a hostile pod sends to a port of the operator, as steps that never wait for an answer.

Every flood ends with its block. Attackers have addresses of their own on the loopback.
"""

import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from afresh.kube.certificate import client_context

HEAD = b"POST /v1/report HTTP/1.1\r\n"
Sends = Callable[[int], bytes]
"""The bytes that a connection sends at its nth turn."""


def unfinished_heads(turn: int) -> bytes:
    field = b"X%d: " % turn + "\U0001f600".encode() + b"a" * 7896 + b"\r\n"
    return (HEAD if turn == 0 else b"") + field


def heads_byte_by_byte(turn: int) -> bytes:
    return HEAD if turn == 0 else b"a"


def bodies_byte_by_byte(turn: int) -> bytes:
    return HEAD + b"Content-Length: 3072\r\n\r\n" if turn == 0 else b"a"


def lines_without_end(turn: int) -> bytes:
    return b"A" * 65536


def empty_lines(turn: int) -> bytes:
    return b"\r\n" * 512


def requests_in_a_row(turn: int) -> bytes:
    return (HEAD + b"Authorization: Bearer t\r\nContent-Length: 2\r\n\r\n{}") * 8


def noise(turn: int) -> bytes:
    return os.urandom(512)


def nothing(turn: int) -> bytes:
    return b""


CLEAR: dict[str, Sends] = {
    "unfinished heads": unfinished_heads,
    "heads byte by byte": heads_byte_by_byte,
    "bodies byte by byte": bodies_byte_by_byte,
    "lines without end": lines_without_end,
    "empty lines": empty_lines,
    "requests in a row": requests_in_a_row,
    "noise": noise,
    "connections that say nothing": nothing,
}


def half_a_handshake(turn: int) -> bytes:
    """The first message of TLS, but for its end."""
    return b"" if turn else Secret().shake(b"")[:-1]


def first_messages(turn: int) -> bytes:
    return Secret().shake(b"")


class Secret:
    """A client's end of TLS, which knows no socket."""

    def __init__(self) -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = client_context().wrap_bio(self._in, self._out)
        self.is_ready = False

    def shake(self, data: bytes) -> bytes:
        """Take what came, and return what must go."""
        self._in.write(data)
        with contextlib.suppress(ssl.SSLWantReadError):
            self._tls.do_handshake()
            self.is_ready = True
        return self._out.read()

    def wrap(self, data: bytes) -> bytes:
        self._tls.write(data)
        return self._out.read()


class Attacker:
    """One connection that is opened again whenever it is closed."""

    def __init__(self, port: int, host: str, sends: Sends, *, tls: bool) -> None:
        self._port, self._host, self._sends = port, host, sends
        self._has_tls = tls
        self._secret: Secret | None = None
        self._sock: socket.socket | None = None
        self._turn = 0

    def step(self) -> None:
        try:
            sock = self._sock or self._open()
            data = self._sends(self._turn)
            self._turn += 1
            if data:
                sock.send(self._secret.wrap(data) if self._secret else data)
        except BlockingIOError:
            return
        except OSError:
            self.close()

    def _open(self) -> socket.socket:
        self._turn = 0
        place = ("127.0.0.1", self._port)
        sock = socket.create_connection(place, timeout=0.5, source_address=(self._host, 0))
        self._sock = sock
        self._secret = Secret() if self._has_tls else None
        if self._secret:
            sock.sendall(self._secret.shake(b""))
        while self._secret and not self._secret.is_ready:
            data = sock.recv(4096)
            if not data:
                raise ConnectionResetError
            sock.sendall(self._secret.shake(data))
        sock.setblocking(False)
        return sock

    def close(self) -> None:
        if self._sock is not None:
            self._sock.close()
        self._sock = None


@contextmanager
def flood(port: int, hosts: list[str], sends: Sends, *, tls: bool = False) -> Iterator[None]:
    """Attack from all hosts, with some 90 connections, for as long as the block lasts.

    With more hosts each has as many as are let in, and some more.
    """
    over = threading.Event()

    def work(host: str) -> None:
        attackers = [Attacker(port, host, sends, tls=tls) for _ in range(max(90 // len(hosts), 20))]
        while not over.is_set():
            for attacker in attackers:
                if over.is_set():
                    break
                attacker.step()
        for attacker in attackers:
            attacker.close()

    threads = [threading.Thread(target=work, args=(host,)) for host in hosts]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()

"""Sends a Report to the operator as a hint, so that the operator learns of it seconds earlier.

A lost hint only costs time, so nothing here raises. The operator proves itself with a certificate
that the Order pins; no other server receives a byte of the Report or the token.
"""

import contextlib
import socket
import ssl
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from afresh.contract.hint_request import (
    ANSWER_MAX_BYTES,
    REPORT_PATH,
    build_request,
    pin_of,
    status_of,
)
from afresh.episode.reporting.log import Log

TIMEOUT_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Destination:
    """The URL to which hints are sent, and the pins of the certificates accepted there."""

    url: str
    pins: Collection[str]


def send_hint(to: Destination, token: Path, body: bytes, log: Log) -> None:
    """POST `body` as JSON with the bearer token in the file `token`. Logs a failure."""
    try:
        status = _post(to, f"Bearer {token.read_text().strip()}", body)
    except (OSError, ValueError) as error:
        log.say(f"the report did not reach the operator: {error}")
        return
    if status >= 300:
        log.say(f"the operator answered the report with status {status}")


def _post(to: Destination, authorization: str, body: bytes) -> int:
    parts = urlsplit(to.url)
    if parts.scheme != "https" or not parts.hostname:
        raise ValueError("the report URL is not https://HOST")
    request = build_request(parts.netloc, parts.path or REPORT_PATH, authorization, body)
    address = (parts.hostname, parts.port or 443)
    with socket.create_connection(address, timeout=TIMEOUT_SECONDS) as plain:
        # Without this option a small packet waits 40 ms for the acknowledgement of the one before.
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _post_by_tls(plain, to.pins, request)


def _post_by_tls(plain: socket.socket, pins: Collection[str], request: bytes) -> int:
    with _client_context().wrap_socket(plain) as connection:
        if pin_of(connection.getpeercert(binary_form=True) or b"") not in pins:
            raise ValueError("the server has a certificate that the Order does not pin")
        connection.sendall(request)
        return status_of(_read_answer(connection))


def _read_answer(connection: ssl.SSLSocket) -> bytes:
    """Return the answer up to at least its status line, or all of it if it has none."""
    answer = b""
    with contextlib.suppress(ssl.SSLEOFError):
        while b"\r\n" not in answer and len(answer) < ANSWER_MAX_BYTES:
            part = connection.recv(ANSWER_MAX_BYTES)
            if not part:
                break
            answer += part
    return answer


def _client_context() -> ssl.SSLContext:
    """Return a context that accepts any certificate: the caller checks its pin."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context

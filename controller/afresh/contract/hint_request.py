"""The bytes of a hint: one POST of a Report, and the parts of the response.

This module owns the request that a runner and a standby operator send, and the pin of a
certificate. It does not know sockets.
"""

import re
from hashlib import sha256

REPORT_PATH = "/v1/report"
ANSWER_MAX_BYTES = 8192
_PRINTABLE = re.compile(r"[!-~]+( [!-~]+)*")
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})[ \r]")


def build_request(host: str, path: str, authorization: str, report: bytes, *more: str) -> bytes:
    """Return the request, with the header lines `more`. Raises ValueError if it cannot be sent."""
    if not re.fullmatch(r"/[!-~]*", path):
        raise ValueError("the path of the report URL has a character that no request can hold")
    fields = [
        f"Host: {host}",
        f"Authorization: {authorization}",
        "Content-Type: application/json",
        f"Content-Length: {len(report)}",
        "Connection: close",
        *more,
    ]
    if not all(_PRINTABLE.fullmatch(field) for field in fields):
        raise ValueError("the host or the token has a character that no request can hold")
    head = "\r\n".join([f"POST {path} HTTP/1.1", *fields, "", ""])
    return head.encode("ascii") + report


def status_of(answer: bytes) -> int:
    """Return the status code of a response. Raises ValueError if it has none."""
    found = _STATUS.match(answer)
    if found is None:
        raise ValueError("the answer is not HTTP")
    return int(found.group(1))


def body_of(answer: bytes) -> bytes:
    """Return the body of a response."""
    return answer.partition(b"\r\n\r\n")[2]


def pin_of(certificate: bytes) -> str:
    """Return the pin of a DER certificate: its SHA-256 digest in hexadecimal digits."""
    return sha256(certificate).hexdigest()

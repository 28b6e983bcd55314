"""The report endpoint of a standby: it passes Reports on to the leader.

The Service of the operators does not know which one leads. This module neither checks nor stores
Reports.
"""

import asyncio
import socket
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from afresh.contract.hint_request import (
    ANSWER_MAX_BYTES,
    REPORT_PATH,
    body_of,
    build_request,
    pin_of,
    status_of,
)
from afresh.contract.report import REPORT_MAX_BYTES
from afresh.kube.certificate import client_context
from afresh.kube.ha.lease import Lease
from afresh.kube.http_message import Answer, Request, message
from afresh.kube.listener import Limits, Route
from afresh.kube.stream import TlsStream

# Shorter than the runner waits for an answer.
SECONDS = 1.5
PASSED_ON = "Afresh-Passed-On"
# For the leader, all Reports of this standby come from one address, whose share no client may use
# up.
LIMITS = Limits(body=REPORT_MAX_BYTES, connections=96, of_one_address=4)
MOST_PASSED_ON = 12


@dataclass
class ReportProxy:
    """The report endpoint of a standby. `pins` are those of the leader's keys."""

    lease: Lease
    pins: Callable[[], Collection[str]]
    _passing: int = field(default=0, init=False)

    def routes(self) -> dict[str, dict[str, Route]]:
        """Return the one route `POST /v1/report`."""
        return {REPORT_PATH: {"POST": self._pass_on}}

    async def _pass_on(self, request: Request) -> Answer:
        token = request.fields.get("authorization", "")
        if not token:
            return message(401, "a bearer token is needed")
        address = self.lease.leader_address
        # A Report is passed on only once, because the leader's address may be outdated.
        if address is None or PASSED_ON.lower() in request.fields:
            return message(503, "there is no leader now")
        if self._passing >= MOST_PASSED_ON:
            return message(503, "too many Reports wait for the leader")
        self._passing += 1
        try:
            async with asyncio.timeout(SECONDS):
                return await self._ask(address, token, request.body)
        except (TimeoutError, OSError, ValueError):
            return message(503, "the leader does not answer")
        finally:
            self._passing -= 1

    async def _ask(self, address: str, token: str, body: bytes) -> Answer:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port or 443
        request = build_request(parts.netloc, REPORT_PATH, token, body, f"{PASSED_ON}: 1")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as sock:
            sock.setblocking(False)
            await asyncio.get_running_loop().sock_connect(sock, (host, port))
            stream = TlsStream(sock, 2 * ANSWER_MAX_BYTES, client_context(), server_side=False)
            await stream.open()
            if pin_of(stream.certificate()) not in self.pins():
                raise ValueError("the leader's certificate is not the one in the Secret")
            await stream.send(request)
            answer = b""
            while part := await stream.receive():
                answer += part
        return Answer(status_of(answer), body_of(answer), "application/json; charset=utf-8")

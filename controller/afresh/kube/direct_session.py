"""A session by the standard library's HTTP client, which starts in a third of the time.

Owns one connection, and how often a question is repeated that has no answer.
"""

import http.client
import json
import time
from urllib.parse import urlencode

from afresh import clock
from afresh.kube.api_request import ApiRequest
from afresh.kube.api_session import ApiSession
from afresh.kube.errors import UnavailableError, translated
from afresh.kube.plain_access import PlainAccess
from afresh.kube.resources import Manifest

ANSWER_SECONDS = 30
TRIES = 4
FIRST_PAUSE = 0.25


class DirectSession(ApiSession):
    """Asks over one HTTP connection of the standard library."""

    def __init__(self, access: PlainAccess, seconds: float, tries: int = TRIES) -> None:
        self.namespace = access.namespace
        self._access = access
        self._tries = tries
        self._end = clock.elapsed() + seconds
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, request: ApiRequest) -> Manifest:
        """Return the answer; where there is none, ask again a few times."""
        for pause in [FIRST_PAUSE * 2**number for number in range(self._tries - 1)]:
            try:
                return self._ask_once(request)
            except UnavailableError:
                time.sleep(min(pause, self._seconds_left()))
        return self._ask_once(request)

    def close(self) -> None:
        """Close the connection."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def _seconds_left(self) -> float:
        left = self._end - clock.elapsed()
        if left <= 0:
            raise TimeoutError
        return left

    def _ask_once(self, request: ApiRequest) -> Manifest:
        headers = {"Accept": request.accept, "User-Agent": "afresh"}
        if self._access.token:
            headers["Authorization"] = f"Bearer {self._access.token}"
        body = None if request.body is None else json.dumps(request.body).encode()
        if body is not None:
            headers["Content-Type"] = request.content_type
        query = f"?{urlencode(request.query)}" if request.query else ""
        connection = self._connected(min(ANSWER_SECONDS, self._seconds_left()))
        try:
            connection.request(
                request.method, f"{self._access.path}{request.path}{query}", body, headers
            )
            response = connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            self._seconds_left()
            why = str(error) or "the connection was lost"
            place = f"{self._access.host}:{self._access.port}"
            raise UnavailableError(f"{request.method} {place}{request.path}: {why}") from error
        if response.status >= 400:
            raise translated(request.method, request.path, response.status, answer)
        return _parsed(request, answer)

    def _connected(self, seconds: float) -> http.client.HTTPConnection:
        access = self._access
        if self._connection is None:
            self._connection = (
                http.client.HTTPSConnection(access.host, access.port, context=access.tls)
                if access.tls
                else http.client.HTTPConnection(access.host, access.port)
            )
        self._connection.timeout = seconds
        if self._connection.sock:
            self._connection.sock.settimeout(seconds)
        return self._connection


def _parsed(request: ApiRequest, answer: bytes) -> Manifest:
    try:
        parsed: Manifest = json.loads(answer)
    except ValueError as error:
        raise UnavailableError(f"{request.method} {request.path}: the answer is no JSON") from error
    return parsed

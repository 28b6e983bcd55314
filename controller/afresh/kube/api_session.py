"""Asks the API server one thing after another, for commands that read once and end.

Owns which of two ways is taken: the standard library's HTTP client, which needs a third of the time
to start, or the Kubernetes client where a kubeconfig needs more than the first can do.
"""

import abc
import http.client
import json
import time
from collections.abc import Iterator
from urllib.parse import urlencode

from afresh import clock
from afresh.kube.api_request import PAGE_SIZE, ApiRequest
from afresh.kube.errors import UnavailableError, translated
from afresh.kube.plain_access import PlainAccess, find_plain_access
from afresh.kube.resources import Manifest, Resource

ANSWER_SECONDS = 30
TRIES = 4
FIRST_PAUSE = 0.25


class ApiSession(abc.ABC):
    """A connection to the API server that lasts as long as one command."""

    namespace: str
    """The namespace of the kubeconfig's context; "default" if it has none."""

    @abc.abstractmethod
    def ask(self, request: ApiRequest) -> Manifest:
        """Return the answer. Raises KubeError, and TimeoutError once the session's time is over."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close the connection."""

    def get(self, resource: Resource, namespace: str | None, name: str) -> Manifest:
        """Return one object. Raises NotFoundError."""
        return self.ask(ApiRequest(path=resource.path(namespace, name)))

    def list_items(
        self, resource: Resource, namespace: str | None, **selectors: str
    ) -> list[Manifest]:
        """Return the objects that the selectors (`labelSelector`, `fieldSelector`) match."""
        found: list[Manifest] = []
        for page in self.pages(ApiRequest(path=resource.path(namespace), query=selectors)):
            kind = str(page["kind"]).removesuffix("List")
            head = {"apiVersion": page["apiVersion"], "kind": kind}
            found += [{**head, **item} for item in page["items"]]
        return found

    def pages(self, request: ApiRequest) -> Iterator[Manifest]:
        """Yield the answers to a request for a list, page by page."""
        query = {**request.query, "limit": str(PAGE_SIZE)}
        while True:
            page = self.ask(ApiRequest(path=request.path, query=query, accept=request.accept))
            yield page
            more = page["metadata"].get("continue")
            if not more:
                return
            query["continue"] = more


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


def open_session(
    kubeconfig: str | None, context: str | None, seconds: float, tries: int = TRIES
) -> ApiSession:
    """Connect for at most `seconds`. Raises KubeError and TimeoutError."""
    access = find_plain_access(kubeconfig, context)
    if access:
        return DirectSession(access, seconds, tries)
    from afresh.kube.client_session import ClientSession  # noqa: PLC0415  # slow to import

    return ClientSession(kubeconfig, context, seconds)

"""A small client of the API server: plain dicts in and out, few verbs, errors translated once.

This module owns the connection; it does not interpret the objects.
"""

import asyncio
import json
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp
from kubernetes.aio import client
from kubernetes.aio.client.exceptions import ApiException

from afresh.kube.api_request import PAGE_SIZE, ApiRequest
from afresh.kube.errors import (
    ConflictError,
    NotFoundError,
    NotLeaderError,
    UnavailableError,
    translated,
)
from afresh.kube.kubeconfig import access
from afresh.kube.resources import Manifest, Resource
from afresh.metrics import registry

# The name of the command line program in managedFields.
CLI_MANAGER = "afresh-cli"
TIMEOUT_SECONDS = 30
NO_ANSWER = "no answer in time"
TRIES = 4
FIRST_PAUSE = 0.25
# A watch or a log may send nothing for a long time.
ENDLESS = aiohttp.ClientTimeout(total=None, sock_connect=TIMEOUT_SECONDS)


class Kube:
    """The API server, with the permissions of the ServiceAccount or of the user's kubeconfig."""

    def __init__(
        self,
        api: client.ApiClient,
        namespace: str = "default",
        refreshing: asyncio.Task[None] | None = None,
    ) -> None:
        self._api = api
        self._refreshing = refreshing
        self._host = urlsplit(api.configuration.host).netloc
        self.namespace = namespace
        """The namespace of the kubeconfig's context or of the pod; "default" if neither has one."""
        self.write_seconds: Callable[[], float] = lambda: math.inf
        """For how many seconds this process may still write; no writing request takes longer."""

    @classmethod
    async def connect(cls, kubeconfig: str | None = None, context: str | None = None) -> Self:
        """Connect with `kubeconfig`, else the user's own one, else the pod's ServiceAccount.

        Raises ConfigurationError if there is none of them.
        """
        settings, namespace, refreshing = await access(kubeconfig, context)
        return cls(client.ApiClient(configuration=settings), namespace or "default", refreshing)

    async def close(self) -> None:
        """Close the connections."""
        if self._refreshing:
            self._refreshing.cancel()
        session = self._api.rest_client.pool_manager
        if session and session.connector:
            # A complete TLS shutdown would outlast the event loop of a short command.
            await session.connector.close(abort_ssl=True)
        await self._api.close()

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Manifest:
        """Return one object. Raises NotFoundError."""
        return await self.ask(ApiRequest(path=resource.path(namespace, name)))

    async def list_items(
        self, resource: Resource, namespace: str | None, **selectors: str
    ) -> list[Manifest]:
        """Return the objects that the selectors (`labelSelector`, `fieldSelector`) match."""
        return [
            item async for page, _ in self.pages(resource, namespace, **selectors) for item in page
        ]

    async def pages(
        self, resource: Resource, namespace: str | None, **selectors: str
    ) -> AsyncIterator[tuple[list[Manifest], int]]:
        """Yield the matching objects in pages, each with the resource version of the whole list.

        Raises UnavailableError if the pages take so long that the server no longer has that
        version.
        """
        query = {**selectors, "limit": str(PAGE_SIZE)}
        while True:
            answer = await self.ask(ApiRequest(path=resource.path(namespace), query=query))
            kind = str(answer["kind"]).removesuffix("List")
            head = {"apiVersion": answer["apiVersion"], "kind": kind}
            metadata = answer["metadata"]
            yield [{**head, **item} for item in answer["items"]], int(metadata["resourceVersion"])
            if not metadata.get("continue"):
                return
            query["continue"] = metadata["continue"]

    async def lines(self, path: str, query: dict[str, str]) -> AsyncGenerator[str]:
        """Yield the lines of a watch or a log as they arrive, until the server ends it.

        Raises KubeError; if the connection is lost, UnavailableError.
        """
        answer = await self._open(ApiRequest(path=path, query=query), ENDLESS)
        rest = b""
        try:
            async for data in answer.response.content.iter_any():
                *whole, rest = (rest + data).split(b"\n")
                for line in whole:
                    yield line.decode(errors="replace")
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            why = str(error) or "the connection was lost"
            raise UnavailableError(f"GET {path}: {why}") from error
        finally:
            # A polite end of TLS would outlive the event loop of a short command.
            connection = answer.response.connection
            if connection and connection.transport:
                connection.transport.abort()
            answer.response.close()
        if rest:
            yield rest.decode(errors="replace")

    async def create(self, resource: Resource, namespace: str | None, body: Manifest) -> Manifest:
        """Create an object and return it. Raises ConflictError if the name is already in use."""
        return await self.ask(ApiRequest(method="POST", path=resource.path(namespace), body=body))

    async def replace_part(
        self, resource: Resource, old: Manifest, part: str, value: Any
    ) -> Manifest:
        """Replace `spec` or `status` of the object that was read as `old`; return the new object.

        Raises ConflictError if the object has changed since, so that no outdated decision is
        written.
        """
        meta = old["metadata"]
        patch = [
            {
                "op": "replace",
                "path": "/metadata/resourceVersion",
                "value": meta["resourceVersion"],
            },
            {"op": "add", "path": f"/{part}", "value": value},
        ]
        sub = "status" if part == "status" else ""
        path = resource.path(meta.get("namespace"), meta["name"], sub)
        return await self.ask(ApiRequest(method="PATCH", path=path, body=patch))

    async def patch(
        self, resource: Resource, namespace: str, name: str, operations: Sequence[Manifest]
    ) -> Manifest:
        """Apply a person's JSON patch and return the new object.

        Raises RefusedError if a `test` fails.
        """
        return await self.ask(
            ApiRequest(
                method="PATCH",
                path=resource.path(namespace, name),
                query={"fieldManager": CLI_MANAGER},
                body=list(operations),
            )
        )

    async def delete(self, resource: Resource, namespace: str, name: str, *, uid: str) -> None:
        """Delete the object with this UID, if it exists, and in the background what it owns."""
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": {"uid": uid},
        }
        path = resource.path(namespace, name)
        try:
            await self.ask(ApiRequest(method="DELETE", path=path, body=options))
        except (NotFoundError, ConflictError):
            return

    async def ask(self, request: ApiRequest) -> Manifest:
        """Return the answer to one request; without an answer, ask again a few times."""
        pause = FIRST_PAUSE
        for last in (False,) * (TRIES - 1) + (True,):
            try:
                return await self._ask_once(request)
            except UnavailableError:
                if last:
                    raise
            await asyncio.sleep(pause)
            pause *= 2
        raise AssertionError("the last try returns or raises")

    async def _ask_once(self, request: ApiRequest) -> Manifest:
        answer = await self._open(request, TIMEOUT_SECONDS)
        try:
            parsed: Manifest = json.loads(await answer.read())
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            said = f"{request.method} {request.path}: {str(error) or NO_ANSWER}"
            raise UnavailableError(said) from error
        return parsed

    async def _open(self, asked: ApiRequest, patience: float | aiohttp.ClientTimeout) -> Any:
        """Return a response whose body is not read yet. Raises KubeError for an error status."""
        method, path = asked.method, asked.path
        request = await self._api.param_serialize(
            method,
            path,
            query_params=list(asked.query.items()),
            header_params={"Accept": f"{asked.accept}, */*", "Content-Type": asked.content_type},
            body=asked.body,
            auth_settings=["BearerToken"],
        )
        if method != "GET":  # checked last: the process may have been suspended until here
            patience = min(TIMEOUT_SECONDS, self.write_seconds())
            if patience <= 0:
                raise NotLeaderError(f"{method} {path}: this operator is no longer the leader")
        code = "<error>"
        try:
            answer = await self._api.call_api(*request, _request_timeout=patience)
            code = str(answer.status)
            if answer.status >= 400:
                raise translated(method, path, answer.status, await answer.read())
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise UnavailableError(f"{method} {path}: {str(error) or NO_ANSWER}") from error
        except ApiException as error:
            code = str(error.status)
            raise translated(method, path, error.status, error.body) from error
        finally:
            registry.API_REQUESTS.labels(method, code, self._host).inc()
        return answer

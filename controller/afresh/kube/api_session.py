"""A session with the API server: one question after another, for commands that read and end.

Owns what every session can do. `opening` chooses how one connects.
"""

import abc
from collections.abc import Iterator

from afresh.kube.api_request import PAGE_SIZE, ApiRequest
from afresh.kube.resources import Manifest, Resource


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

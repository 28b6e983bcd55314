"""One request to the API server, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
"""A server-side apply; the body is the object, and JSON is YAML."""
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
"""Asks for rows of cells, as `kubectl get` shows them."""

PAGE_SIZE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """What is asked of the API server; `accept` is the media type of the answer."""

    method: str = "GET"
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    accept: str = JSON
    patch_type: str = JSON_PATCH

    @property
    def content_type(self) -> str:
        """The media type of the body."""
        return self.patch_type if self.method == "PATCH" else JSON

"""A small client that checks whether an API server and its node are ready.

It only reads. Must not know how the server was started.
"""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any

from tools.singlenode.components import NODE_NAME

_TIMEOUT_SECONDS = 10


class ApiServer:
    """A client of the API server at `port` on loopback, with the administrator's keys in `pki`."""

    def __init__(self, pki: Path, port: int) -> None:
        self._port = port
        self._tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")

    def is_ready(self) -> bool:
        """Return whether the server answers and has finished its start."""
        return self._get("/readyz") is not None

    def has_ready_node(self) -> bool:
        """Return whether a pod created now would be scheduled at once."""
        body = self._get(f"/api/v1/nodes/{NODE_NAME}")
        if body is None:
            return False
        node: dict[str, Any] = json.loads(body)
        conditions = node["status"].get("conditions", [])
        is_ready = any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in conditions
        )
        return is_ready and not node["spec"].get("taints")

    def has_default_account(self) -> bool:
        """Return whether a pod in the default namespace would be admitted, and find its CA."""
        default = "/api/v1/namespaces/default"
        wanted = (f"{default}/serviceaccounts/default", f"{default}/configmaps/kube-root-ca.crt")
        return all(self._get(path) is not None for path in wanted)

    def _get(self, path: str) -> bytes | None:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, context=self._tls, timeout=_TIMEOUT_SECONDS
        )
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()
        return body if response.status == http.HTTPStatus.OK else None

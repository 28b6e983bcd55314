"""The API server, asked directly: a hundred questions cost what one start of kubectl does.

Owns paths and HTTP. Must not know Afresh.
"""

import http.client
import json
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Manifest = dict[str, Any]

TIMEOUT_SECONDS = 60
FIELD_MANAGER = "team"
GROUPS = {
    "namespaces": "api/v1",
    "pods": "api/v1",
    "services": "api/v1",
    "secrets": "api/v1",
    "configmaps": "api/v1",
    "events": "api/v1",
    "resourcequotas": "api/v1",
    "limitranges": "api/v1",
    "persistentvolumes": "api/v1",
    "persistentvolumeclaims": "api/v1",
    "deployments": "apis/apps/v1",
    "endpointslices": "apis/discovery.k8s.io/v1",
    "jobs": "apis/batch/v1",
    "networkpolicies": "apis/networking.k8s.io/v1",
    "workpackages": "apis/afresh.dev/v1alpha1",
    "subtasks": "apis/afresh.dev/v1alpha1",
    "agentclasses": "apis/afresh.dev/v1alpha1",
    "priorityclasses": "apis/scheduling.k8s.io/v1",
    **dict.fromkeys(
        (
            "validatingwebhookconfigurations",
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
        ),
        "apis/admissionregistration.k8s.io/v1",
    ),
    **dict.fromkeys(
        ("resourceflavors", "clusterqueues", "localqueues", "workloads"),
        "apis/kueue.x-k8s.io/v1beta2",
    ),
}
PLURALS = {
    "AgentClass": "agentclasses",
    "NetworkPolicy": "networkpolicies",
    "PriorityClass": "priorityclasses",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
}


class ApiError(AssertionError):
    """The API server refused a request; the message is its own."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=TIMEOUT_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(TIMEOUT_SECONDS)
        self.sock.connect(str(self._path))


@dataclass(frozen=True)
class Api:
    """The API server behind the socket of a `kubectl proxy`. Threads may share it."""

    socket: Path

    def call(
        self, method: str, path: str, body: Any = None, content: str = "application/json"
    ) -> Any:
        """Send one request and return the answer. Raises ApiError."""
        status, answer = self._send(method, path, body, content)
        if status >= 300:
            raise ApiError(status, json.loads(answer).get("message", ""))
        return json.loads(answer)

    def text(self, path: str) -> str:
        """Return an answer that is no JSON, such as a log. Raises ApiError."""
        status, answer = self._send("GET", path, None, "")
        if status >= 300:
            raise ApiError(status, answer.decode())
        return answer.decode()

    def get(self, kind: str, name: str, namespace: str | None = None) -> Manifest:
        """Return one object. Raises ApiError."""
        found: Manifest = self.call("GET", _path(kind, namespace, name))
        return found

    def items(self, kind: str, namespace: str, labels: str = "") -> list[Manifest]:
        """Return all objects of a kind in a namespace, or those with the labels."""
        query = f"?labelSelector={labels}" if labels else ""
        found: list[Manifest] = self.call("GET", _path(kind, namespace) + query)["items"]
        return found

    def apply(self, manifest: Manifest) -> None:
        """Do what `kubectl apply --server-side` does. Raises ApiError."""
        metadata = manifest["metadata"]
        path = _path(_plural(manifest["kind"]), metadata.get("namespace"), metadata["name"])
        query = f"?fieldManager={FIELD_MANAGER}&fieldValidation=Strict&force=true"
        self.call("PATCH", path + query, manifest, "application/apply-patch+yaml")

    def merge(self, kind: str, name: str, namespace: str, patch: Manifest) -> None:
        """Change some fields of an object. Raises ApiError."""
        path = _path(kind, namespace, name)
        self.call("PATCH", path, patch, "application/merge-patch+json")

    def delete(self, kind: str, name: str, namespace: str, **options: Any) -> None:
        """Delete one object; one that is gone is gone. Raises ApiError."""
        try:
            self.call("DELETE", _path(kind, namespace, name), options or None)
        except ApiError as error:
            if error.status != http.HTTPStatus.NOT_FOUND:
                raise

    def remove(self, kind: str, name: str) -> None:
        """Delete one object that is in no namespace; `kind` as in manifests. Raises ApiError."""
        self.call("DELETE", _path(_plural(kind), None, name))

    def evict(self, pod: str, namespace: str) -> None:
        """Ask for a pod's eviction, as a drain does. Raises ApiError."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": namespace},
        }
        self.call("POST", f"{_path('pods', namespace, pod)}/eviction", body)

    def _send(self, method: str, path: str, body: Any, content: str) -> tuple[int, bytes]:
        connection = _UnixConnection(self.socket)
        headers = {"content-type": content} if body is not None else {}
        try:
            text = json.dumps(body) if body is not None else None
            connection.request(method, f"/{path}", text, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


def _plural(kind: str) -> str:
    return PLURALS.get(kind, kind.lower() + "s")


def _path(kind: str, namespace: str | None, name: str = "") -> str:
    middle = f"/namespaces/{namespace}" if namespace else ""
    return f"{GROUPS[kind]}{middle}/{kind}{f'/{name}' if name else ''}"

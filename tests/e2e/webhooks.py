"""Admission of other people in one team's namespace: webhooks that work or do not, and policies."""

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.api import ApiError, Manifest
from tests.e2e.cluster import CLUSTER
from tests.e2e.team import Team

GROUP = "admissionregistration.k8s.io/v1"
INJECTOR = Path(__file__).parent / "injector.py"


@dataclass(frozen=True)
class Kind:
    """What is looked at when it is created."""

    group: str
    name: str

    @property
    def rule(self) -> Manifest:
        """It as a rule of a webhook or a policy."""
        return {
            "apiGroups": [self.group],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": [self.name],
        }


PODS = Kind("", "pods")
JOBS = Kind("batch", "jobs")


@dataclass(frozen=True)
class Injector:
    """A webhook's server in the cluster's network; nobody answers at its address when it is off."""

    team: Team
    folder: Path
    port: int

    @property
    def client(self) -> Manifest:
        """How the API server reaches it."""
        pem = (self.folder / "key.pem").read_bytes()
        certificate = pem[pem.find(b"-----BEGIN CERTIFICATE-----") :]
        return {
            "url": f"https://127.0.0.1:{self.port}/",
            "caBundle": base64.b64encode(certificate).decode(),
        }

    @contextmanager
    def on(self) -> Iterator[None]:
        """Answer for as long as the block lasts."""
        with _serving(self.team, self.folder, self.port):
            yield


def injector(team: Team, folder: Path, additions: dict[str, Any]) -> Injector:
    """Prepare a webhook's server, with its key and a port of its own."""
    pem = str(folder / "key.pem")
    made = ("-keyout", pem, "-out", str(folder / "certificate.pem"))
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-batch")
    name = ("-subj", "/CN=webhook", "-addext", "subjectAltName=IP:127.0.0.1")
    subprocess.run(
        ["openssl", "req", "-x509", *curve, *name, *made], check=True, capture_output=True
    )
    with (folder / "key.pem").open("ab") as file:
        file.write((folder / "certificate.pem").read_bytes())
    (folder / "additions.json").write_text(json.dumps(additions), encoding="utf-8")
    with _serving(team, folder, 0) as port:
        return Injector(team, folder, port)


@contextmanager
def _serving(team: Team, folder: Path, port: int) -> Iterator[int]:
    files = [str(folder / "key.pem"), str(folder / "additions.json")]
    words = [sys.executable, "-P", str(INJECTOR), str(port), *files]
    command = [*CLUSTER, "run", team.cluster.name, "--", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.terminate()


@contextmanager
def webhook(team: Team, kind: Kind, client: Manifest, *, mutating: bool) -> Iterator[None]:
    """Have what is created in the namespace looked at, for as long as the block lasts."""
    what = "Mutating" if mutating else "Validating"
    hook = {
        "name": "pods.mesh.example",
        "clientConfig": client,
        "rules": [kind.rule],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": 5,
        "admissionReviewVersions": ["v1"],
        "namespaceSelector": _only(team),
    }
    manifest = {"apiVersion": GROUP, "kind": f"{what}WebhookConfiguration", "webhooks": [hook]}
    with _standing(team, manifest):
        yield


@contextmanager
def policy(team: Team, kind: Kind) -> Iterator[None]:
    """Have a policy refuse what is created and lacks a label, for as long as the block lasts."""
    rules = {"resourceRules": [kind.rule], "namespaceSelector": _only(team)}
    has_label = "'cost-centre' in object.metadata.?labels.orValue({})"
    message = "the label cost-centre is missing"
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": rules,
        "validations": [{"expression": has_label, "message": message}],
    }
    binding = {"policyName": team.namespace, "validationActions": ["Deny"]}
    first = {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicy", "spec": spec}
    second = {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding}
    with _standing(team, first), _standing(team, second):
        yield


def refusal_of(team: Team, kind: Kind) -> str:
    """Return what the API server says to the creation of a harmless pod or Job, if that is no."""
    try:
        would_be(team, kind)
    except ApiError as error:
        return str(error)
    return ""


def would_be(team: Team, kind: Kind) -> Manifest:
    """Return a harmless pod or Job as the API server would create it. Raises ApiError."""
    security = {
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {"name": "any", "image": "any", "securityContext": security}
    spec: Manifest = {"containers": [container], "restartPolicy": "Never"}
    if kind is JOBS:
        spec = {"template": {"spec": spec}}
    group = f"apis/{kind.group}" if kind.group else "api"
    path = f"{group}/v1/namespaces/{team.namespace}/{kind.name}?dryRun=All"
    body = {"metadata": {"generateName": "any-"}, "spec": spec}
    made: Manifest = team.cluster.api.call("POST", path, body)
    return made


@contextmanager
def _standing(team: Team, manifest: Manifest) -> Iterator[None]:
    team.apply({**manifest, "metadata": {"name": team.namespace}})
    try:
        yield
    finally:
        team.cluster.api.remove(manifest["kind"], team.namespace)


def _only(team: Team) -> Manifest:
    return {"matchLabels": {"kubernetes.io/metadata.name": team.namespace}}

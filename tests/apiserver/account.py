"""The operator's ServiceAccount with exactly the rules that the chart gives it."""

import base64
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.apiserver.kubectl import Kubectl

ROOT = Path(__file__).parents[2]
RELEASE_NAMESPACE = "afresh-system"
NAME = "afresh-operator"
REPORT_SECRET = f"{NAME}-reports"
TEMPLATES = ("rbac", "serviceaccount", "lease", "report_secret")


@dataclass(frozen=True)
class Token:
    """A way to the API server as the operator. `id` is what the audit log calls it."""

    id: str
    kubeconfig: Path


def rendered(helm: Path, *values: str) -> list[dict[str, Any]]:
    """Return the account and its rights as the chart has them."""
    settings = [word for value in values for word in ("--set", value)]
    shown = [word for name in TEMPLATES for word in ("--show-only", f"templates/{name}.yaml")]
    done = subprocess.run(
        [str(helm), "template", "afresh", str(ROOT / "charts" / "afresh"),
         "--namespace", RELEASE_NAMESPACE, *settings, *shown],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [item for item in yaml.safe_load_all(done.stdout) if item]


def grant(kubectl: Kubectl, objects: list[dict[str, Any]]) -> None:
    """Create the account, its rights in place of any that it had, a free Lease, and a Secret."""
    kubectl("delete", "lease", NAME, "-n", RELEASE_NAMESPACE, "--ignore-not-found")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": RELEASE_NAMESPACE}}
    for item in (namespace, *objects):
        metadata = item["metadata"]
        if item["kind"] in ("ServiceAccount", "Role", "RoleBinding", "Lease", "Secret"):
            metadata.setdefault("namespace", RELEASE_NAMESPACE)
        kubectl("apply", manifest=item)


def token(
    kubectl: Kubectl,
    admin: Path,
    place: Path,
    server: str | None = None,
    *,
    name: str = NAME,
    namespace: str = RELEASE_NAMESPACE,
) -> Token:
    """Return a new token of the account, in a kubeconfig in `place`; at the server, or at this."""
    secret = kubectl("create", "token", name, "-n", namespace, "--duration=1h").strip()
    known = yaml.safe_load(admin.read_text())
    cluster = known["clusters"][0]["cluster"]
    if server:
        cluster = {"server": server}
    claims = secret.split(".")[1]
    id = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["jti"]
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": secret}}],
        "contexts": [
            {"name": "x", "context": {"cluster": "c", "user": "u", "namespace": namespace}}
        ],
        "current-context": "x",
    }
    path = place / f"{id}.conf"
    path.touch(mode=0o600)
    path.write_text(json.dumps(config))
    return Token(id=id, kubeconfig=path)

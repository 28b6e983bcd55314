"""The commands of `afresh` as the tests call them, and what they are called for."""

import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from afresh.cli.__main__ import main
from tests.api.manifests import changed, minimal_package
from tests.apiserver.kubectl import Kubectl, Manifest

URL = "http://127.0.0.1:9/team/api.git"


@dataclass(frozen=True, slots=True)
class Done:
    """What a command printed, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


Afresh = Callable[..., Done]


def run_afresh(*arguments: str) -> Done:
    """Run the command in this process: the imports of a new one take longer than all it does."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = main(arguments)
    return Done(code, out.getvalue(), err.getvalue())


def apply(kubectl: Kubectl, namespace: str, *subtasks: Manifest, **spec: Any) -> Manifest:
    """Apply a package and return what is stored."""
    changes = {"spec.subtasks": list(subtasks), "spec.repository": {"url": URL}}
    changes |= {f"spec.{field}": value for field, value in spec.items()}
    kubectl.apply(changed(minimal_package(), changes), namespace)
    return kubectl.get("wp", "demo", namespace)


def spec_of(kubectl: Kubectl, namespace: str) -> Manifest:
    spec: Manifest = kubectl.get("wp", "demo", namespace)["spec"]
    return spec


def set_status(kubectl: Kubectl, namespace: str, phase: str, **status: Any) -> None:
    """Write a status as the operator does, about the package as it now is."""
    generation = kubectl.get("wp", "demo", namespace)["metadata"]["generation"]
    ready = {"type": "Ready", "status": "False", "reason": phase, "message": f"It is {phase}."}
    status_fields = {
        "phase": phase,
        "reason": phase,
        "observedGeneration": generation,
        "progress": "0/1",
    }
    kubectl.patch_status(
        "wp", "demo", namespace, {**status_fields, "conditions": [ready], **status}
    )


def write_kubeconfig(
    folder: Path,
    admins: Path,
    *,
    namespace: str,
    user: Manifest | None = None,
    path: str = "",
) -> Path:
    """Write a kubeconfig for the same server with one context named theirs."""
    config = yaml.safe_load(admins.read_text())
    cluster, admin = config["clusters"][0]["cluster"], config["users"][0]["user"]
    target = folder / "theirs"
    theirs = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {**cluster, "server": cluster["server"] + path}}],
        "users": [{"name": "u", "user": user or admin}],
        "contexts": [
            {"name": "theirs", "context": {"cluster": "c", "user": "u", "namespace": namespace}}
        ],
        "current-context": "theirs",
    }
    target.write_text(yaml.safe_dump(theirs))
    return target


def visitor(
    kubectl: Kubectl,
    kubeconfig: Path,
    namespace: str,
    folder: Path,
    *kinds: str,
    verbs: str = "get,list,watch",
) -> str:
    """Make an account that may do that with these kinds in the namespace; return its kubeconfig."""
    kubectl("create", "serviceaccount", "visitor", "-n", namespace)
    kubectl("create", "role", "visitor", "-n", namespace, f"--verb={verbs}",
            f"--resource={','.join(kinds)}")  # fmt: skip
    kubectl("create", "rolebinding", "visitor", "-n", namespace, "--role=visitor",
            f"--serviceaccount={namespace}:visitor")  # fmt: skip
    token = kubectl("create", "token", "visitor", "-n", namespace).strip()
    return str(write_kubeconfig(folder, kubeconfig, user={"token": token}, namespace=namespace))

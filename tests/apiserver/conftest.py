"""A real etcd and kube-apiserver with the CRDs, for one test session."""

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.apiserver.commands import Afresh, Done, run_afresh
from tests.apiserver.kubectl import Kubectl
from tests.session_clusters import new_name

ROOT = Path(__file__).parents[2]
CLUSTER = [sys.executable, str(ROOT / "tools" / "singlenode")]


@dataclass(frozen=True)
class ControlPlane:
    """A running API server: its name for `tools/singlenode`, and the administrator's kubeconfig."""

    name: str
    kubeconfig: Path


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """Start a bare API server that lives as long as the session."""
    name = new_name("apiserver")
    try:
        answer = _cluster("up", name, "--control-plane")
        yield ControlPlane(name=name, kubeconfig=Path(answer.splitlines()[-1]))
    finally:
        _cluster("down", name)


@pytest.fixture(scope="session")
def kubeconfig(control_plane: ControlPlane, kubectl: Kubectl) -> Path:
    """Return the administrator's kubeconfig of a server that has the CRDs."""
    return control_plane.kubeconfig


@pytest.fixture(scope="session")
def kubectl(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """Return kubectl for a server that has the CRDs."""
    program = _cluster("run", control_plane.name, "--", "sh", "-c", "command -v kubectl").strip()
    kubectl = Kubectl(
        program=Path(program),
        kubeconfig=control_plane.kubeconfig,
        cache=tmp_path_factory.mktemp("kubectl-cache"),
    )
    kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
    kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=120s")
    return kubectl


@pytest.fixture(scope="session")
def helm(control_plane: ControlPlane) -> Path:
    """Return the program helm."""
    found = _cluster("run", control_plane.name, "--", "sh", "-c", "command -v helm").strip()
    return Path(found)


@pytest.fixture(scope="session")
def audit_log(control_plane: ControlPlane) -> Path:
    """Return the server's audit log."""
    return control_plane.kubeconfig.parent / "audit.log"


@pytest.fixture(scope="session")
def make_namespace(kubectl: Kubectl) -> Callable[[], str]:
    """Return a function that makes a new namespace."""
    numbers = itertools.count(1)

    def make() -> str:
        name = f"test-{next(numbers)}"
        kubectl("create", "namespace", name)
        return name

    return make


@pytest.fixture
def namespace(make_namespace: Callable[[], str]) -> str:
    """Return a namespace that no other test uses."""
    return make_namespace()


@pytest.fixture
def afresh(kubeconfig: Path, namespace: str) -> Afresh:
    """Run `afresh` as the administrator in the namespace of the test."""

    def run(*arguments: str) -> Done:
        return run_afresh(*arguments, "-n", namespace, "--kubeconfig", str(kubeconfig))

    return run


def _cluster(*arguments: str) -> str:
    done = subprocess.run(
        [*CLUSTER, *arguments], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

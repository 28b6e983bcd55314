"""One real node for the whole session, with the demo's story told on it first."""

import base64
import os
import subprocess
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.e2e.cluster import CLUSTER, IMAGES, ROOT, Cluster
from tests.e2e.team import Team


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Start a node with every image; take it down at the end."""
    node = Cluster(f"e2e-{os.getpid()}")
    try:
        for words in (("images", *IMAGES), ("up", node.name), ("load", node.name, *IMAGES)):
            node.tool(*words)
        yield node
    finally:
        subprocess.run([*CLUSTER, "down", node.name], check=False, timeout=300)


@dataclass(frozen=True)
class Told:
    """What `make demo CLUSTER=current` printed, and how it ended."""

    code: int
    output: str


@pytest.fixture(scope="session")
def demo(cluster: Cluster) -> Told:
    """Run the demo as a user does who has a cluster; the operator and its servers stay."""
    environment = ["env", "IMAGES=localhost/afresh"]
    done = cluster.run(
        *environment, "make", "-C", str(ROOT), "--no-print-directory", "demo", "CLUSTER=current",
        timeout=900,
    )  # fmt: skip
    return Told(done.returncode, done.stdout + done.stderr)


@pytest.fixture(scope="session")
def git_password(cluster: Cluster, demo: Told) -> str:
    """Return the password of the demo's git server."""
    secret = cluster.get("secret", "git-credentials", "afresh-demo")
    return base64.b64decode(secret["data"]["password"]).decode()


@pytest.fixture
def team(cluster: Cluster, git_password: str, request: pytest.FixtureRequest) -> Iterator[Team]:
    """Return a restricted namespace of its own with git credentials that work."""
    name = f"team-{zlib.crc32(request.node.name.encode())}"
    cluster.kubectl("create", "namespace", name)
    cluster.kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
    address = cluster.get("service", "git", "afresh-demo")["spec"]["clusterIP"]
    made = Team(cluster, name, f"http://{address}")
    made.secret("git-credentials", username="afresh", password=git_password)
    yield made
    cluster.kubectl("delete", "namespace", name, "--wait=false")

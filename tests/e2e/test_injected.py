"""What a service mesh adds to pods: a sidecar, labels, variables, a token. Episodes work on."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.e2e.cluster import wait
from tests.e2e.team import STAMP, Team
from tests.e2e.webhooks import PODS, injector, webhook, would_be

pytestmark = [pytest.mark.cluster, pytest.mark.story]

LABEL = "mesh.example/revision"
FOR_EVER = "trap 'exit 0' TERM; while :; do sleep 0.2; done"
PROXY = {
    "name": "mesh-proxy",
    "image": "localhost/afresh/agent-command:dev",
    "command": ["/bin/sh", "-c", FOR_EVER],
    "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
    "securityContext": {
        "runAsNonRoot": True,
        "runAsUser": 1337,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    },
    "volumeMounts": [{"name": "mesh-token", "mountPath": "/var/run/secrets/mesh"}],
}
ADDED = {
    "labels": {LABEL: "stable"},
    "env": [{"name": "MESH_ID", "value": "one"}],
    "volumes": [{"name": "mesh-token", "emptyDir": {"medium": "Memory"}}],
    "volumeMounts": [{"name": "mesh-token", "mountPath": "/var/run/secrets/mesh"}],
}
WAYS = [
    pytest.param({"initContainers": [{**PROXY, "restartPolicy": "Always"}]}, id="native"),
    pytest.param({"containers": [PROXY]}, id="ordinary"),
]


@pytest.mark.parametrize("sidecar", WAYS)
def test_an_episode_works_in_a_pod_to_which_a_mesh_has_added_a_sidecar(
    team: Team, sidecar: dict[str, Any]
) -> None:
    with TemporaryDirectory() as folder:
        server = injector(team, Path(folder), {**ADDED, **sidecar})
        with server.on(), webhook(team, PODS, server.client, mutating=True):
            wait("pods are changed", lambda: LABEL in labels_of(would_be(team, PODS)), seconds=60)
            bell = team.bell()
            team.apply(team.package("p", STAMP, bell.prompt("echo $MESH_ID >mesh.txt")))
            pod = team.running_pod("T002")
            bell.ring()
            status = team.wait_for("Succeeded")

    names = {item["name"] for key in sidecar for item in pod["spec"][key]}
    assert "mesh-proxy" in names
    assert labels_of(pod)[LABEL] == "stable"
    assert status["usage"]["episodes"] == 2
    assert team.branch().read("mesh.txt") == "one\n"
    wait("no Job is left at work", lambda: not at_work(team), seconds=120)


def test_an_init_container_that_fails_is_named_and_costs_no_attempt(team: Team) -> None:
    init = {**PROXY, "name": "mesh-init", "command": ["/bin/sh", "-c", "exit 3"]}
    with TemporaryDirectory() as folder:
        server = injector(team, Path(folder), {**ADDED, "initContainers": [init]})
        with server.on(), webhook(team, PODS, server.client, mutating=True):
            wait("pods are changed", lambda: LABEL in labels_of(would_be(team, PODS)), seconds=60)
            team.apply(team.package("p", STAMP))
            stalled = team.wait_for("Stalled")
    status = team.wait_for("Succeeded")

    assert stalled["reason"] == "Config"
    assert stalled["conditions"][0]["message"].startswith(
        "Correct the init container mesh-init where the cluster adds it to pods"
    )
    assert stalled["wait"]["key"] == "added"
    assert status["usage"]["episodes"] == 1
    assert status["subtasks"][0]["consecutiveFailures"] == 0


def labels_of(manifest: dict[str, Any]) -> dict[str, str]:
    labels: dict[str, str] = manifest["metadata"].get("labels", {})
    return labels


def at_work(team: Team) -> list[str]:
    """The Jobs that have not ended."""
    jobs = team.cluster.api.items("jobs", team.namespace)
    return [job["metadata"]["name"] for job in jobs if job["status"].get("active")]

"""An operator for some namespaces: they come, go and come back while it runs."""

import json

import pytest

from tests.chart.helm import CRDS, OPERATOR, SYSTEM
from tests.e2e.cluster import Cluster, wait
from tests.e2e.test_install import (
    PATIENTLY,
    SECONDS,
    TEAM,
    VALUES,
    Releases,
    move_in,
    new_cluster,
)

pytestmark = pytest.mark.cluster
LATE = "late"
SERVED = (*VALUES, f"namespaces={{{TEAM},{LATE}}}")
__all__ = ["new_cluster"]


def told(cluster: Cluster) -> list[tuple[str, str]]:
    """What the operator's log says of namespaces, in its order."""
    text = cluster.kubectl("logs", "-n", SYSTEM, "deployment/afresh-operator", "--tail=-1")
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [(x["event"], x["namespace"]) for x in lines if x["event"].startswith("namespace_")]


def test_namespaces_come_and_go_while_the_operator_serves_the_others(new_cluster: Cluster) -> None:
    releases = Releases(new_cluster)
    releases.install(CRDS)
    releases.install(OPERATOR, *SERVED)
    before = told(new_cluster)
    team = move_in(new_cluster)
    releases.install(OPERATOR, *SERVED)
    bell = team.bell()
    team.apply(team.package("p", bell.prompt()))
    team.running_pod("T001")
    new_cluster.kubectl("create", "namespace", LATE)
    releases.install(OPERATOR, *SERVED)
    served = ("namespace_served", LATE)
    wait("it is served", lambda: served in told(new_cluster), seconds=SECONDS)
    seen = told(new_cluster)
    new_cluster.kubectl("delete", "namespace", LATE, "--timeout=100s")
    new_cluster.kubectl("rollout", "restart", "deployment/afresh-operator", "-n", SYSTEM)
    new_cluster.kubectl(
        "rollout", "status", "deployment/afresh-operator", "-n", SYSTEM, "--timeout=200s"
    )
    bell.ring()
    status = team.wait_for("Succeeded")
    releases.install(OPERATOR, *SERVED)
    releases.helm("uninstall", OPERATOR, *PATIENTLY)

    assert before == [("namespace_not_served", TEAM), ("namespace_not_served", LATE)]
    assert seen == [*before, ("namespace_served", TEAM), served]
    assert [item["attempts"] for item in status["subtasks"]] == [1]

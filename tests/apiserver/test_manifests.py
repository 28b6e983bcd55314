"""What `kubectl apply -k` and `kubectl delete -k` do with the manifests."""

import pytest

from tests.apiserver.kubectl import Kubectl, Manifest
from tests.chart.helm import ROOT, SYSTEM

pytestmark = pytest.mark.apiserver

FOLDER = ROOT / "deploy" / "manifests"
# What the folder has made, and not what other tests have made of the chart under other names.
CLUSTER_WIDE = (
    "clusterroles,clusterrolebindings", "-l", "app.kubernetes.io/instance=afresh", "-o", "name",
)  # fmt: skip
TEAM: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}


def test_the_operator_for_one_namespace_is_applied_twice_and_removed_whole(
    kubectl: Kubectl,
) -> None:
    kubectl("apply", manifest=TEAM)
    before = set(kubectl("get", CLUSTER_WIDE[0], "-o", "name").split())
    apply = ("apply", "--server-side", "--force-conflicts", "-k", str(FOLDER / "namespaced"))

    kubectl(*apply)
    made = kubectl("get", "deployments,services,networkpolicies", "-n", SYSTEM, "-o", "name")
    bound = kubectl("get", "rolebindings", "-n", "team-a", "-o", "name")
    again = kubectl(*apply)
    roles = kubectl("get", *CLUSTER_WIDE)
    kubectl("delete", "-k", str(FOLDER / "namespaced"), "--wait=false", "--ignore-not-found",
            "--selector=app.kubernetes.io/component=operator")  # fmt: skip

    assert made.split() == [
        "deployment.apps/afresh-operator",
        "service/afresh-operator",
        "networkpolicy.networking.k8s.io/afresh-operator",
    ]
    assert bound.split() == ["rolebinding.rbac.authorization.k8s.io/afresh-operator"]
    assert "serverside-applied" in again
    assert "afresh-operator-cluster" in roles
    assert kubectl("get", *CLUSTER_WIDE) == ""
    assert set(kubectl("get", CLUSTER_WIDE[0], "-o", "name").split()) <= before

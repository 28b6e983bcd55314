"""`afresh check` on a real API server: each row, for clusters that lack something."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from afresh import __version__
from tests.apiserver.commands import Afresh, apply, run_afresh, visitor
from tests.apiserver.conftest import ROOT
from tests.apiserver.kubectl import Kubectl

pytestmark = pytest.mark.apiserver

Row = tuple[str, str]


def rows(output: str) -> dict[str, Row]:
    """The level and the message of each check."""
    return {row["check"]: (row["level"], row["message"]) for row in json.loads(output)["checks"]}


def operator(name: str, **labels: str) -> dict[str, Any]:
    """A Deployment that looks like the operator's."""
    chosen = {
        "app.kubernetes.io/name": "afresh",
        "app.kubernetes.io/component": "operator",
        **labels,
    }
    container = {
        "name": "operator",
        "image": "localhost/afresh/operator:1",
        "env": [{"name": "AFRESH_RUNNER_IMAGE", "value": "registry.example.com/runner:1"}],
    }
    template = {"metadata": {"labels": chosen}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "labels": chosen},
        "spec": {"selector": {"matchLabels": chosen}, "template": template},
    }  # fmt: skip


def test_check_of_a_cluster_without_an_operator_fails_and_says_what_to_do(
    afresh: Afresh, namespace: str
) -> None:
    done = afresh("check")
    found = rows(afresh("check", "-o", "json").stdout)

    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.endswith("A check has failed.\n")
    assert "operator           fail      There is no operator on this cluster:" in done.stdout
    assert {name: level for name, (level, _) in found.items()} == {
        "kubernetes": "pass", "crds": "pass", "operator": "fail", "rights to read": "pass",
        "rights to write": "pass", "registries": "pass", "image pulls": "pass",
        "admission": "pass", "network policies": "unknown",
    }  # fmt: skip
    assert found["crds"][1] == f"The CRDs are those of version {__version__}."
    assert found["admission"][1] == f"The cluster accepts an episode's pod and Job in {namespace}."


def test_check_leaves_nothing_behind(afresh: Afresh, kubectl: Kubectl, namespace: str) -> None:
    afresh("check")
    afresh("check", "--pre")

    assert kubectl("get", "pods,jobs", "-n", namespace, "-o", "name") == ""


def test_check_sees_an_operator_that_is_not_ready_its_version_and_its_images(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    kubectl("apply", "-n", namespace, manifest=operator("op"))
    try:
        down = rows(afresh("check", "-o", "json").stdout)
        before = rows(afresh("check", "--pre", "-o", "json").stdout)
        label = {"app.kubernetes.io/version": "0.0.1"}
        kubectl("delete", "deployment", "op", "-n", namespace)
        kubectl("apply", "-n", namespace, manifest=operator("op", **label))
        ready = {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}
        kubectl.patch_status("deployment", "op", namespace, ready)
        old = rows(afresh("check", "-o", "json").stdout)
        version = json.loads(afresh("version", "-o", "json").stdout)
    finally:
        kubectl("delete", "deployment", "op", "-n", namespace)

    assert down["operator"] == (
        "fail",
        f"No pod of the operator {namespace}/op is ready: see kubectl describe deployment -n"
        f" {namespace} op.",
    )
    assert before["installed"][0] == "warn"
    assert down["registries"][0] == "warn"
    assert "localhost/afresh/operator:1" in down["registries"][1]
    assert "registry.example.com" not in down["registries"][1]
    assert old["operator"][0] == "warn"
    assert f"has version 0.0.1, and this command has version {__version__}:" in old["operator"][1]
    assert version["operator"] == "0.0.1"


@pytest.mark.parametrize("served", [True, False])
def test_check_says_whether_an_operator_serves_the_namespace(
    served: bool, afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    manifest = operator("op")
    value = f"team-a, {namespace if served else 'team-b'}"
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    container["env"].append({"name": "AFRESH_NAMESPACES", "value": value})
    kubectl("apply", "-n", namespace, manifest=manifest)
    try:
        found = rows(afresh("check", "-o", "json").stdout)
    finally:
        kubectl("delete", "deployment", "op", "-n", namespace)

    assert found["namespace"] == (
        ("pass", f"An operator serves the namespace {namespace}.")
        if served
        else (
            "fail",
            f"No operator serves {namespace}: add it to the value namespaces of the chart.",
        )
    )


def test_a_scripted_model_is_not_taken_for_an_operator(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    label = {"app.kubernetes.io/component": "scripted-model"}
    kubectl("apply", "-n", namespace, manifest=operator("model", **label))
    apply(kubectl, namespace, {"id": "T1", "prompt": "Do it."})
    try:
        found = rows(afresh("check", "-o", "json").stdout)
        version = json.loads(afresh("version", "-o", "json").stdout)
        explained = json.loads(afresh("explain", "demo", "-o", "json").stdout)
    finally:
        kubectl("delete", "deployment", "model", "-n", namespace)

    assert found["operator"] == (
        "fail", "There is no operator on this cluster: have the chart afresh installed."
    )  # fmt: skip
    assert version["operator"] == "(not installed)"
    assert explained["operators"] == []


def test_check_sees_crds_that_are_not_those_of_this_version(
    afresh: Afresh, kubectl: Kubectl
) -> None:
    path = ROOT / "crds" / "subtasks.yaml"
    crd = yaml.safe_load(path.read_text())
    older = copy.deepcopy(crd)
    older["spec"]["versions"][0]["additionalPrinterColumns"].pop()
    try:
        kubectl("apply", "--server-side", manifest=older)
        found = rows(afresh("check", "-o", "json").stdout)
    finally:
        kubectl("apply", "--server-side", "-f", str(path))

    level, message = found["crds"]
    assert level == "warn"
    assert message.startswith(
        f"CRDs differ from those of version {__version__} (subtasks.afresh.dev):"
    )
    assert "afresh crds | kubectl apply --server-side -f -" in message


def test_check_names_what_refuses_an_episodes_pod(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    quota = {
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "no-pods"},
        "spec": {"hard": {"pods": "0"}},
    }  # fmt: skip
    kubectl("apply", "-n", namespace, manifest=quota)
    kubectl.patch_status("quota", "no-pods", namespace, {"hard": {"pods": "0"}, "used": {}})

    level, message = rows(afresh("check", "-o", "json").stdout)["admission"]

    assert level == "fail"
    assert message.startswith(f"The cluster refuses an episode's pod in {namespace}: ")
    assert "no-pods" in message


def test_episodes_pod_passes_pod_security_restricted(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    label = "pod-security.kubernetes.io/enforce=restricted"
    kubectl("label", "namespace", namespace, label)

    assert rows(afresh("check", "-o", "json").stdout)["admission"][0] == "pass"


@pytest.mark.parametrize(
    ("daemon_set", "want"),
    [
        pytest.param("calico-node", ("pass", "Calico enforces NetworkPolicies."), id="an enforcer"),
        pytest.param("kube-flannel-ds", ("warn", "Flannel does not enforce NetworkPolicies: agents"
                     " can reach the whole network; add one that does."), id="no enforcer"),
    ],
)  # fmt: skip
def test_check_knows_network_addons(
    daemon_set: str, want: Row, afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    manifest = operator(daemon_set) | {"kind": "DaemonSet"}
    manifest["metadata"]["labels"] = {"a": "b"}
    kubectl("apply", "-n", namespace, manifest=manifest)
    try:
        found = rows(afresh("check", "-o", "json").stdout)
    finally:
        kubectl("delete", "daemonset", daemon_set, "-n", namespace)

    assert found["network policies"] == want


def test_check_by_somebody_with_few_rights_says_what_is_unknown(
    kubectl: Kubectl, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    theirs = visitor(kubectl, kubeconfig, namespace, tmp_path, "workpackages.afresh.dev")

    found = rows(run_afresh("check", "-o", "json", "--kubeconfig", theirs).stdout)
    before = rows(run_afresh("check", "--pre", "-o", "json", "--kubeconfig", theirs).stdout)

    assert {name: level for name, (level, _) in found.items()} == {
        "kubernetes": "pass", "crds": "unknown", "operator": "unknown", "rights to read": "warn",
        "rights to write": "warn", "registries": "unknown", "image pulls": "unknown",
        "admission": "unknown", "network policies": "unknown",
    }  # fmt: skip
    assert found["rights to write"][1].startswith(
        "You may not create workpackages.afresh.dev (a new package); patch"
    )
    assert "list workpackages" not in found["rights to read"][1]
    assert before["rights to install"][0] == "fail"
    assert "create clusterroles.rbac.authorization.k8s.io" in before["rights to install"][1]


def test_check_before_an_install_names_older_crds_and_a_namespace_that_is_not_there(
    kubeconfig: Path,
) -> None:
    done = run_afresh(
        "check", "--pre", "-n", "not-there", "-o", "json", "--kubeconfig", str(kubeconfig)
    )

    found = rows(done.stdout)
    assert done.returncode == 1
    assert found["crds"][0] == "warn"
    assert found["names"][0] == "pass"
    assert found["rights to install"] == ("pass", "You have all rights that are needed.")
    assert found["admission"] == (
        "fail",
        "There is no namespace not-there: create it, or name one with -n.",
    )

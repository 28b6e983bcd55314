"""The charts as releases on a real API server: what an upgrade and a rollback do to the CRDs."""

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.apiserver.kubectl import Kubectl, Manifest
from tests.chart.helm import CRDS, OPERATOR, ROOT, helm

pytestmark = pytest.mark.apiserver

# etcd takes objects of 1.5 MiB, the API server Secrets of 1 MiB.
RELEASE_LIMIT = 128 << 10
CRD = "workpackages.afresh.dev"


@dataclass(frozen=True)
class Releases:
    """The releases of one namespace on one API server."""

    kubectl: Kubectl
    kubeconfig: Path
    namespace: str

    def upgrade(self, name: str, *words: str, chart: Path | None = None) -> str:
        """Install or upgrade a chart; return what was said against it."""
        source = str(chart or ROOT / "charts" / name)
        # What is the cluster's, other tests have made too.
        return self.helm("upgrade", "--install", "--take-ownership", name, source, *words)

    def helm(self, *words: str) -> str:
        """Run Helm in the namespace; return what was said against it."""
        options = ("--kubeconfig", str(self.kubeconfig), "-n", self.namespace)
        done = helm(*words, *options)
        return done.stderr if done.returncode else ""

    def say(self, *words: str) -> str:
        """Run Helm in the namespace; return what it says."""
        done = helm(*words, "--kubeconfig", str(self.kubeconfig), "-n", self.namespace)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def revision(self, name: str) -> int:
        """Return the number of a release's newest revision."""
        history: list[Manifest] = json.loads(self.say("history", name, "-o", "json"))
        return int(history[-1]["revision"])

    def crd(self) -> Manifest:
        """Return the CRD of packages."""
        found: Manifest = json.loads(self.kubectl("get", "crd", CRD, "-o", "json"))
        return found

    def sizes(self) -> dict[str, int]:
        """Return the bytes of each release's newest Secret."""
        of_helm = ("--field-selector=type=helm.sh/release.v1", "-o", "json")
        listed = json.loads(self.kubectl("get", "secrets", "-n", self.namespace, *of_helm))
        return {
            item["metadata"]["labels"]["name"]: len(base64.b64decode(item["data"]["release"]))
            for item in listed["items"]
        }


@pytest.fixture(scope="module")
def releases(
    kubectl: Kubectl, kubeconfig: Path, make_namespace: Callable[[], str]
) -> Iterator[Releases]:
    """Take the CRDs of the server into a release, and leave them as they were found."""
    made = Releases(kubectl, kubeconfig, make_namespace())
    # Other files apply what the chart renders, to the same server and by the same names.
    rights = "clusterroles,clusterrolebindings"
    kubectl("delete", rights, "-l", f"app.kubernetes.io/instance={OPERATOR}")
    assert made.upgrade(CRDS, "--take-ownership") == ""
    yield made
    assert made.helm("uninstall", OPERATOR, "--ignore-not-found") == ""
    assert made.upgrade(CRDS) == ""
    assert made.helm("uninstall", CRDS) == ""


def chart_of_crds(folder: Path, version: str, *fields: str) -> Path:
    """Return the chart of the CRDs in another version, with further fields of a package's spec."""
    chart = folder / CRDS
    shutil.copytree(ROOT / "charts" / CRDS, chart)
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    about |= {"version": version, "appVersion": version}
    (chart / "Chart.yaml").write_text(yaml.safe_dump(about))
    path = chart / "files" / "workpackages.yaml"
    crd = yaml.safe_load(path.read_text())
    properties_of(crd).update({name: {"type": "string"} for name in fields})
    path.write_text(yaml.safe_dump(crd))
    return chart


def properties_of(crd: Manifest) -> Manifest:
    (version,) = crd["spec"]["versions"]
    found: Manifest = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    return found


def test_an_upgrade_brings_new_fields_and_a_rollback_of_the_operator_leaves_them(
    releases: Releases, tmp_path: Path
) -> None:
    newer = chart_of_crds(tmp_path, "9.0.0", "mood")
    assert releases.upgrade(OPERATOR) == ""
    assert "mood" not in properties_of(releases.crd())

    # The server's CRDs were applied by kubectl, which owns the fields until then.
    assert releases.upgrade(CRDS, "--force-conflicts", chart=newer) == ""
    assert releases.upgrade(OPERATOR, "--set", "log.level=DEBUG") == ""
    assert releases.helm("rollback", OPERATOR) == ""

    assert properties_of(releases.crd())["mood"] == {"type": "string"}


def test_crds_older_than_the_operator_are_reported_before_anything_is_changed(
    releases: Releases, tmp_path: Path
) -> None:
    assert releases.upgrade(CRDS, chart=chart_of_crds(tmp_path, "0.0.1")) == ""

    output = releases.upgrade(OPERATOR)

    assert "The CRDs in the cluster are of version 0.0.1: upgrade the chart afresh-crds" in output
    assert releases.upgrade(CRDS) == ""
    assert releases.upgrade(OPERATOR) == ""


def test_the_crds_and_what_is_of_their_kinds_outlive_their_release(
    releases: Releases, namespace: str
) -> None:
    releases.kubectl.apply(
        {"apiVersion": "afresh.dev/v1alpha1", "kind": "AgentClass",
         "metadata": {"name": namespace}, "spec": {"adapter": "Claude", "image": "a"}},
        namespace,
    )  # fmt: skip
    assert releases.helm("uninstall", CRDS) == ""

    assert namespace in releases.kubectl("get", "agentclasses", "-o", "name")
    assert releases.upgrade(CRDS) == ""


def test_classes_come_with_the_first_install_of_the_operator(
    kubectl: Kubectl, releases: Releases, namespace: str
) -> None:
    first = Releases(kubectl, releases.kubeconfig, namespace)

    assert first.helm("install", "first", str(ROOT / "charts" / OPERATOR),
                      "--set", "agentClasses.codex.enabled=true") == ""  # fmt: skip
    assert "agentclass.afresh.dev/codex" in kubectl("get", "agentclasses", "-o", "name")
    assert first.helm("uninstall", "first") == ""
    assert "agentclass.afresh.dev/codex" not in kubectl("get", "agentclasses", "-o", "name")


@pytest.mark.parametrize("option", ["--model=scripted", "--remove"])
def test_the_demo_leaves_a_cluster_alone_that_has_an_operator_in_any_namespace(
    releases: Releases, option: str
) -> None:
    assert releases.upgrade(OPERATOR) == ""
    look = ("get", "clusterroles,clusterrolebindings,namespaces", "-o", "name")
    before = releases.kubectl(*look)
    programs = releases.kubectl.program.parent

    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/demo"), "--cluster=current", option],
        env={**os.environ, "KUBECONFIG": str(releases.kubeconfig), "IMAGES": "example.com/x",
             "PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert f"the demo did not install the Afresh in {releases.namespace}" in done.stderr
    assert releases.kubectl(*look) == before


@pytest.mark.parametrize("server_side", ["true", "false"])
def test_upgrade_and_rollback_leave_the_key_of_the_report_endpoint_as_it_is(
    releases: Releases, server_side: str
) -> None:
    how = f"--server-side={server_side}"
    releases.helm("uninstall", OPERATOR, "--ignore-not-found", "--wait")
    assert releases.upgrade(OPERATOR, how) == ""
    where = ("secret", f"{OPERATOR}-operator-reports", "-n", releases.namespace)
    key = {"current": "a2V5"}
    releases.kubectl("patch", *where, "--type=merge", "-p", json.dumps({"data": key}))

    assert releases.upgrade(OPERATOR, how, "--set", "log.level=DEBUG") == ""
    upgraded = releases.kubectl.get(*where[:2], releases.namespace)["data"]
    assert releases.helm("rollback", OPERATOR, how) == ""
    rolled_back = releases.kubectl.get(*where[:2], releases.namespace)["data"]

    assert upgraded == rolled_back == key


def test_replicas_go_up_down_and_back_by_upgrades_like_any_other(releases: Releases) -> None:
    def now() -> tuple[int, bool]:
        listed = ("get", "deployments,leases,poddisruptionbudgets", "-n", releases.namespace)
        found = json.loads(releases.kubectl(*listed, "-o", "json"))["items"]
        kinds = [item["kind"] for item in found]
        (deployment,) = (item for item in found if item["kind"] == "Deployment")
        assert "Lease" in kinds
        return deployment["spec"]["replicas"], "PodDisruptionBudget" in kinds

    releases.helm("uninstall", OPERATOR, "--ignore-not-found", "--wait")
    seen = []
    for count in (1, 2, 1):
        assert releases.upgrade(OPERATOR, "--set", f"replicas={count}") == ""
        seen.append(now())
    assert releases.helm("rollback", OPERATOR, "2") == ""
    seen.append(now())

    assert seen == [(1, False), (2, True), (1, False), (2, True)]


def test_a_namespace_that_is_not_there_holds_up_no_release_and_gets_its_role_by_the_next_one(
    releases: Releases, namespace: str
) -> None:
    late = f"{namespace}-late"
    served = ("--set", f"namespaces={{{namespace},{late}}}")

    def bound() -> list[str]:
        listed = releases.kubectl("get", "rolebindings", "-A", "-o", "json")
        return sorted(
            item["metadata"]["namespace"]
            for item in json.loads(listed)["items"]
            if item["metadata"]["name"] == "afresh-operator"
            and item["metadata"]["namespace"] in (namespace, late)
        )

    def environment() -> str:
        found = releases.kubectl.get("deployment", "afresh-operator", releases.namespace)
        (container,) = found["spec"]["template"]["spec"]["containers"]
        (value,) = (
            item["value"] for item in container["env"] if item["name"] == "AFRESH_NAMESPACES"
        )
        return str(value)

    assert releases.upgrade(OPERATOR, *served) == ""
    notes = releases.say("get", "notes", OPERATOR)
    without, told = bound(), environment()
    releases.kubectl("create", "namespace", late)
    assert releases.upgrade(OPERATOR, *served) == ""
    with_it, silent = bound(), releases.say("get", "notes", OPERATOR)
    releases.kubectl("delete", "role,rolebinding", "--all", "-n", late)
    releases.kubectl.end_namespace(late)
    assert releases.upgrade(OPERATOR, *served) == ""
    without_again = bound()
    back = releases.helm("rollback", OPERATOR, str(releases.revision(OPERATOR) - 1))
    assert releases.upgrade(OPERATOR) == ""

    assert without == without_again == [namespace]
    assert f'namespaces "{late}" not found' in back
    assert with_it == [namespace, late]
    assert told == f"{namespace},{late}"
    assert f"do not exist, so the operator does not serve them: {late}." in notes
    assert "do not exist" not in silent


def test_a_release_is_small(releases: Releases) -> None:
    everything = ["admission.enabled=true", "replicas=2"]
    everything += [f"agentClasses.{name}.enabled=true" for name in ("claude", "gemini")]

    assert releases.upgrade(OPERATOR, "--set", ",".join(everything)) == ""
    sizes = releases.sizes()

    assert set(sizes) == {CRDS, OPERATOR}
    assert max(sizes.values()) < RELEASE_LIMIT

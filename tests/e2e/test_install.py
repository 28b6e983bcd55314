"""The operator's whole life on a cluster of its own: install, upgrade, rollback, uninstall.

An episode runs all the while, and none of it is lost.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from tests.chart.helm import CRDS, OPERATOR, SYSTEM
from tests.e2e.cluster import CLUSTER, IMAGES, ROOT, Cluster, tool, wait
from tests.e2e.conftest import proxy
from tests.e2e.team import Team
from tests.session_clusters import new_name

pytestmark = pytest.mark.cluster

VALUES = ("image.registry=localhost/afresh,image.tag=dev", "admission.enabled=true",
          "agentClasses.claude.enabled=true")  # fmt: skip
PATIENTLY = ("--wait", "--timeout", "300s")
SECONDS = 300
TEAM = "team-a"
PASSWORD = "a-password-of-the-tests"
# The node's network enforces no NetworkPolicies, and its images are on no registry.
READY_FOR_AFRESH = {
    "kubernetes": "pass", "crds": "pass", "names": "pass", "rights to install": "pass",
    "admission": "pass", "network policies": "unknown",
}  # fmt: skip
WORKS = {
    "kubernetes": "pass", "crds": "pass", "operator": "pass", "namespace": "pass",
    "rights to read": "pass", "rights to write": "pass", "registries": "warn",
    "image pulls": "pass", "admission": "pass", "network policies": "unknown",
}  # fmt: skip


@dataclass(frozen=True)
class Releases:
    """Helm on the cluster."""

    cluster: Cluster

    def helm(self, *words: str) -> None:
        """Run Helm; fails the test if it fails."""
        done = self.try_helm(*words)
        assert done.returncode == 0, done.stderr

    def try_helm(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run Helm, whatever its end."""
        return self.cluster.run("helm", *words, "--namespace", SYSTEM, timeout=600)

    def install(self, chart: str, *values: str) -> None:
        """Install or upgrade a chart, and wait until what it brings is ready."""
        self.helm(*self.command(chart, *values))

    def command(self, chart: str, *values: str) -> list[str]:
        """Return what installs or upgrades a chart."""
        settings = [word for value in values for word in ("--set", value)]
        source = str(ROOT / "charts" / chart)
        return ["upgrade", "--install", chart, source, "--create-namespace",
                *PATIENTLY, *settings]  # fmt: skip


@pytest.fixture(scope="module")
def new_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start a node that has heard nothing of Afresh but its images."""
    name = new_name("install")
    try:
        for words in (("images", *IMAGES), ("up", name), ("load", name, *IMAGES)):
            tool(*words)
        with proxy(name, tmp_path_factory.mktemp("api") / "socket") as api:
            yield Cluster(name, api)
    finally:
        subprocess.run([*CLUSTER, "down", name], check=False, timeout=300)


def move_in(cluster: Cluster) -> Team:
    """Make a team's namespace with a git server of its own."""
    team = Team(
        cluster=cluster, namespace=TEAM, git="", git_password=PASSWORD, model="", model_key=""
    )
    team.move_in()
    return replace(team, git=team.server("git").url)


def test_an_operator_is_installed_upgraded_rolled_back_and_removed_while_episodes_run(
    new_cluster: Cluster,
) -> None:
    releases = Releases(new_cluster)
    before = levels_of_check(new_cluster, "default", "--pre")
    without_crds = releases.try_helm(*releases.command(OPERATOR))
    releases.install(CRDS)
    releases.install(OPERATOR, *VALUES)
    team = move_in(new_cluster)
    bells = [team.bell(name) for name in ("first", "second", "third")]
    team.apply(team.package("p", *(bell.prompt() for bell in bells)))

    team.running_pod("T001")
    releases.install(OPERATOR, *VALUES, "replicas=2")
    bells[0].ring()
    team.running_pod("T002")
    releases.install(OPERATOR, *VALUES, "replicas=2", "log.level=DEBUG")
    bells[1].ring()
    team.running_pod("T003")
    releases.helm("rollback", OPERATOR, "1", *PATIENTLY)
    rights_are_those_of_the_namespaces_roles(team)
    releases.helm("uninstall", OPERATOR, *PATIENTLY)
    nothing_is_left_of(OPERATOR, new_cluster)
    bells[2].ring()
    wait("the episode ends with nobody to tell", lambda: not at_work(team), seconds=SECONDS)
    releases.install(OPERATOR, *VALUES)
    status = team.wait_for("Succeeded")
    after = levels_of_check(new_cluster, TEAM)

    assert before == READY_FOR_AFRESH
    assert after == WORKS
    assert "The cluster has no CRDs of Afresh" in without_crds.stderr
    assert [item["attempts"] for item in status["subtasks"]] == [1, 1, 1], team.history()
    assert (status["usage"]["episodes"], status["usage"]["transientRetries"]) == (3, 0)
    everything_can_be_deleted_without_an_operator(releases, team)


def levels_of_check(cluster: Cluster, namespace: str, *options: str) -> dict[str, str]:
    """Run `afresh check`, which finds nothing that fails; return the level of each check."""
    words = ("check", *options, "-n", namespace, "-o", "json")
    place = f"PYTHONPATH={ROOT / 'controller'}"
    done = cluster.run("env", place, sys.executable, "-m", "afresh.cli", *words)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return {row["check"]: row["level"] for row in json.loads(done.stdout)["checks"]}


def rights_are_those_of_the_namespaces_roles(team: Team) -> None:
    """Ask as two people of the team, to whom the cluster's own roles are bound there."""
    for user in ("view", "edit"):
        team.cluster.kubectl("create", "rolebinding", user, "-n", team.namespace,
                             f"--clusterrole={user}", f"--user={user}")  # fmt: skip

    def may(user: str, *what: str) -> bool:
        words = ("auth", "can-i", *what, "-n", team.namespace, "--as", user)
        return team.cluster.run("kubectl", *words).stdout.strip() == "yes"

    wait("the roles are added up", lambda: may("edit", "create", "wp"), seconds=SECONDS)
    for user in ("view", "edit"):
        assert may(user, "watch", "wp"), user
        assert may(user, "get", "subtasks.afresh.dev"), user
        assert not may(user, "patch", "wp", "--subresource=status"), user
        assert not may(user, "create", "subtasks.afresh.dev"), user
        assert not may(user, "update", "agentclasses.afresh.dev"), user
        assert not may(user, "use", "agentclasses.afresh.dev"), user
    assert not may("view", "create", "wp")


def nothing_is_left_of(release: str, cluster: Cluster) -> None:
    """See that no object of any kind carries the release's name."""
    listed = cluster.kubectl("api-resources", "--verbs=list", "-o", "name").split()
    label = f"app.kubernetes.io/instance={release}"
    look = ("get", ",".join(sorted(listed)), "-A", "-l", label, "-o", "name")
    wait("it is gone", lambda: not cluster.kubectl(*look).strip(), seconds=SECONDS)
    assert "afresh" not in cluster.kubectl("get", "leases", "-n", SYSTEM, "-o", "name")


def at_work(team: Team) -> list[str]:
    """Return the pods of episodes that have not ended."""
    ended = ("Succeeded", "Failed")
    return [
        pod["metadata"]["name"] for pod in team.pods() if pod["status"].get("phase") not in ended
    ]


def everything_can_be_deleted_without_an_operator(releases: Releases, team: Team) -> None:
    """Remove the operator in the middle of an episode, then the CRDs and the namespaces."""
    cluster = team.cluster
    team.apply(team.package("q", team.bell("never").prompt()))
    team.running_pod(package="q")

    releases.helm("uninstall", OPERATOR, *PATIENTLY)
    releases.helm("uninstall", CRDS)
    kept = cluster.kubectl("get", "wp", "-A", "-o", "name").split()
    cluster.kubectl("delete", "-f", str(ROOT / "crds"), "--timeout=100s")
    cluster.kubectl("delete", "namespace", team.namespace, SYSTEM, "--timeout=100s")

    assert kept == ["workpackage.afresh.dev/p", "workpackage.afresh.dev/q"]
    assert "afresh" not in cluster.kubectl("get", "crds,clusterroles", "-o", "name")

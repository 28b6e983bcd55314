"""The operator has exactly the rights that it uses, and uses them on its own objects alone.

It runs with what the chart gives it for one namespace; the API server's audit log is the witness.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from afresh.contract.order import Order
from afresh.contract.words import Outcome
from afresh.core.names import job_name
from tests.apiserver import guard
from tests.apiserver.account import (
    NAME,
    RELEASE_NAMESPACE,
    REPORT_SECRET,
    Token,
    grant,
    rendered,
    token,
)
from tests.apiserver.audit import Entry, Use, entries_of
from tests.apiserver.kubectl import Kubectl, Manifest
from tests.apiserver.operator_process import OperatorProcess
from tests.apiserver.reporting import post
from tests.apiserver.story import holds, node_of

pytestmark = pytest.mark.apiserver


@pytest.fixture
def rights(helm: Path, namespace: str) -> list[dict[str, Any]]:
    return rendered(helm, f"namespaces={{{namespace}}}", "replicas=2")


@pytest.fixture
def account(
    kubectl: Kubectl, kubeconfig: Path, rights: list[Manifest], namespace: str, tmp_path: Path
) -> Token:
    kubectl("delete", "secret", REPORT_SECRET, "-n", RELEASE_NAMESPACE, "--ignore-not-found")
    grant(kubectl, rights)
    guard.install(kubectl, namespace)
    return token(kubectl, kubeconfig, tmp_path)


@pytest.fixture
def operator(account: Token, namespace: str, tmp_path: Path) -> Iterator[OperatorProcess]:
    process = OperatorProcess(
        account.kubeconfig, namespace, tmp_path / "log",
        settings={
            "AFRESH_LEASE_NAME": NAME,
            "AFRESH_POD_IP": "127.0.0.1",
            "AFRESH_REPORT_SECRET": REPORT_SECRET,
        },
    )  # fmt: skip
    process.start()
    yield process
    if process.alive:
        process.kill()


@pytest.fixture
def recorded(account: Token, audit_log: Path) -> Callable[[], list[Entry]]:
    """Return what tells what the operator has asked for so far."""
    return lambda: [entry for entry in entries_of(audit_log) if entry.token == account.id]


@pytest.fixture
def world(kubectl: Kubectl, namespace: str) -> "World":
    return World(kubectl, namespace)


async def test_in_one_namespace_the_chart_gives_exactly_the_rights_that_are_used(
    operator: OperatorProcess,
    world: "World",
    kubeconfig: Path,
    rights: list[Manifest],
    recorded: Callable[[], list[Entry]],
) -> None:
    def used(verb: str, resource: str) -> Callable[[], bool]:
        return lambda: (
            (verb, resource) in {(entry.use.verb, entry.use.resource) for entry in recorded()}
        )

    kubectl, namespace = world.kubectl, world.namespace
    world.apply(POLICY_OF_ANOTHER, SUBTASK_OF_ANOTHER)
    world.agents()
    world.package("p", "T000", "T001")
    await holds("it looks at the subtask", used("get", "subtasks"))
    kubectl("delete", "subtask", "p-t000", "-n", namespace)
    await holds("it looks at the policy", used("get", "networkpolicies"))
    kubectl("delete", "networkpolicy", "afresh-episodes", "-n", namespace)
    await holds("it asks why no pod starts", used("list", "events"))
    world.let_in()
    await holds("it puts the policy right", used("patch", "networkpolicies"))
    world.package("p", "T001")
    await holds("it ends the episode", used("delete", "jobs"))
    await holds("it removes the subtask", used("delete", "subtasks"))
    world.package("p", "T001", prompt="Do it so.")
    await holds("it takes the edit over", used("patch", "subtasks"))
    world.package("q", "T000", agentClassName=f"metered-{namespace}")
    world.package("r", "T000", suspend=True)
    world.apply(job_of_another("r", world.uid("r")))
    world.package("r", "T000", suspend=False)
    await holds("it looks at the Job", used("get", "jobs"))
    kubectl("delete", "job", job_name("r", "T000", 1, world.uid("r")), "-n", namespace)
    async with node_of(kubeconfig, namespace, busy_provider):
        await holds("it closes the gate", used("patch", "agentclasses/status"))
        await holds("the others are done", lambda: world.phases("p", "r") == {"Succeeded"})
        stranger = token_of_another(kubectl, namespace)
        report_to(operator.report_port, "made-up", stranger)
        reviewed_for_nothing = used("create", "tokenreviews")()
        of_p = ("-l", "afresh.dev/package=p", "-n", namespace, "-o", "name")
        job, *_ = kubectl("get", "jobs", *of_p).split()
        report_to(operator.report_port, job.partition("/")[2], stranger)

    assert not reviewed_for_nothing
    entries = recorded()
    allowed = uses_of(rights)
    assert {entry.use for entry in entries if entry.is_denied} == set()
    assert {entry.use for entry in entries} - allowed == set()
    # The admission policies ask for this one; there is nothing that it could be done to.
    assert allowed - {entry.use for entry in entries} == {Use("run", "afresh.dev", "episodes")}
    for resource, name in (("leases", NAME), ("secrets", REPORT_SECRET)):
        reported = {
            (item.namespace, item.name) for item in entries if item.use.resource == resource
        }
        assert reported == {(RELEASE_NAMESPACE, name)}
    assert [entry for entry in entries if any("failure" in key for key in entry.annotations)] == []


def test_what_is_not_its_own_is_out_of_its_reach_where_the_guard_stands(
    kubectl: Kubectl, rights: list[Manifest], namespace: str
) -> None:
    grant(kubectl, rights)
    guard.install(kubectl, namespace)

    done = kubectl.run(
        "create", "-n", namespace, f"--as=system:serviceaccount:{RELEASE_NAMESPACE}:{NAME}",
        manifest=POLICY_OF_ANOTHER,
    )  # fmt: skip

    assert guard.REFUSAL in done.stderr


def test_the_operator_may_read_one_secret_of_its_own_and_make_no_rights(
    rights: list[Manifest],
) -> None:
    rules = [(item, rule) for item in rights for rule in item.get("rules", [])]
    (secret,) = [pair for pair in rules if "secrets" in pair[1]["resources"]]
    resources = {resource for _, rule in rules for resource in rule["resources"]} - {"secrets"}
    kinds = sorted(item["kind"] for item in rights)

    assert (secret[0]["kind"], secret[0]["metadata"]["namespace"]) == ("Role", RELEASE_NAMESPACE)
    assert secret[1] == {
        "apiGroups": [""],
        "resources": ["secrets"],
        "resourceNames": [REPORT_SECRET],
        "verbs": ["get", "patch"],
    }
    assert not resources & {"configmaps", "roles", "rolebindings", "pods/exec", "*"}
    assert kinds == [
        "ClusterRole", "ClusterRoleBinding", "Lease", "Role", "Role", "RoleBinding", "RoleBinding",
        "Secret", "ServiceAccount",
    ]  # fmt: skip


def uses_of(rights: list[Manifest]) -> set[Use]:
    """Everything that the rules allow."""
    rules = [rule for item in rights for rule in item.get("rules", [])]
    return {
        Use(verb, group, resource)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def busy_provider(order: Order) -> Outcome:
    return Outcome.TRANSIENT if "/q" in order.package else Outcome.SUCCESS


def token_of_another(kubectl: Kubectl, namespace: str) -> str:
    """Return the token of a pod that is not of an episode: who it is of must be asked."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stranger"},
        "spec": {"serviceAccountName": "stranger", "containers": [{"name": "c", "image": "i"}]},
    }
    kubectl("create", "serviceaccount", "stranger", "-n", namespace)
    kubectl("apply", "-n", namespace, manifest=pod)
    bound = ("--bound-object-kind=Pod", "--bound-object-name=stranger", "--audience=afresh")
    return kubectl("create", "token", "stranger", "-n", namespace, *bound).strip()


def report_to(port: int, episode: str, known: str) -> None:
    """Report with the token of another; that is refused."""
    reported = json.dumps({"episode": episode, "stage": "reported", "version": 1})
    assert post(port, reported, known, seconds=30)[0] == 401


@dataclass(frozen=True)
class World:
    """What people do in the namespace."""

    kubectl: Kubectl
    namespace: str

    def apply(self, *manifests: Manifest) -> None:
        for manifest in manifests:
            self.kubectl("apply", "-n", self.namespace, manifest=manifest)

    def agents(self) -> None:
        plain = {"adapter": "Command", "command": ["true"]}
        metered = {"adapter": "Claude", "credentials": {"secretName": "key"}}
        for name, spec in (("plain", plain), ("metered", metered)):
            agent_class = {
                "apiVersion": "afresh.dev/v1alpha1",
                "kind": "AgentClass",
                "metadata": {"name": f"{name}-{self.namespace}"},
                "spec": {"image": "example.com/agent:1", **spec},
            }
            self.kubectl("apply", manifest=agent_class)

    def package(self, name: str, *ids: str, prompt: str = "Do it.", **spec: Any) -> None:
        url = f"http://git.example.com/{self.namespace}/{name}.git"
        self.apply(
            {
                "apiVersion": "afresh.dev/v1alpha1",
                "kind": "WorkPackage",
                "metadata": {"name": name},
                "spec": {
                    "agentClassName": f"plain-{self.namespace}",
                    "repository": {"url": url},
                    "verify": {"command": ["true"]},
                    "subtasks": [{"id": id, "prompt": prompt} for id in ids],
                    **spec,
                },
            }
        )

    def uid(self, package: str) -> str:
        found = self.kubectl.get("workpackage", package, self.namespace)
        return str(found["metadata"]["uid"])

    def phases(self, *packages: str) -> set[str]:
        found = (self.kubectl.get("workpackage", name, self.namespace) for name in packages)
        return {item.get("status", {}).get("phase", "") for item in found}

    def let_in(self) -> None:
        """Open the episodes' pods to everybody."""
        edit = json.dumps({"spec": {"ingress": [{}]}})
        where = ("networkpolicy", "afresh-episodes", "-n", self.namespace)
        self.kubectl("patch", *where, "--type=merge", "-p", edit)


POLICY_OF_ANOTHER = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "afresh-episodes"},
    "spec": {"podSelector": {}},
}
SUBTASK_OF_ANOTHER = {
    "apiVersion": "afresh.dev/v1alpha1",
    "kind": "Subtask",
    "metadata": {"name": "p-t000"},
    "spec": {"id": "T000", "prompt": "Another.", "workPackageName": "another"},
}


def job_of_another(package: str, uid: str) -> Manifest:
    """Return a Job that has the name of the package's first."""
    container = {"name": "c", "image": "i"}
    pod = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": job_name(package, "T000", 1, uid)},
        "spec": {"template": pod, "suspend": True},
    }

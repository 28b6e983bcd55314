"""Who may use a class: the chart's admission policy and roles on a real API server."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.api.manifests import changed, minimal_package
from tests.apiserver.kubectl import Kubectl, Manifest
from tests.chart.helm import SYSTEM, render
from tests.e2e.cluster import wait

pytestmark = pytest.mark.apiserver

USER = "alice"
WANTED = (
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
)
REFUSAL = "you may not use the AgentClass {} in the namespace {}: ask for a role with the verb use"


@dataclass(frozen=True)
class Writer:
    """A team's namespace in which a user may edit packages, and the policy holds."""

    kubectl: Kubectl
    namespace: str
    release: str

    def write(self, name: str = "demo", agent_class: str = "claude") -> str:
        """Apply a package of the class as the user; return what was said against it."""
        manifest = changed(minimal_package(name), {"spec.agentClassName": agent_class})
        return self.kubectl.run(
            "apply", "-n", self.namespace, "--as", USER, manifest=manifest
        ).stderr

    def patch(self, patch: str) -> str:
        """Change the package as the user; return what was said against it."""
        target = ["wp", "demo", "-n", self.namespace, "--as", USER]
        return self.kubectl.run("patch", *target, "--type=merge", "-p", patch).stderr

    def allow(self, agent_class: str) -> None:
        """Let the user use a class in this namespace."""
        rule = {"apiGroups": ["afresh.dev"], "resources": ["agentclasses"],
                "resourceNames": [agent_class], "verbs": ["use"]}  # fmt: skip
        name = f"use-{agent_class}"
        self.kubectl.apply(role(name, rule), self.namespace)
        self.kubectl.apply(binding(name, "Role", name), self.namespace)

    def forbid(self, agent_class: str) -> None:
        """Take that back."""
        self.kubectl("delete", "rolebinding", f"use-{agent_class}", "-n", self.namespace)


def role(name: str, rule: Manifest) -> Manifest:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": name},
        "rules": [rule],
    }


def binding(name: str, kind: str, target: str) -> Manifest:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": target},
        "subjects": [{"kind": "User", "name": USER, "apiGroup": "rbac.authorization.k8s.io"}],
    }


@pytest.fixture(scope="module")
def writer(kubectl: Kubectl, make_namespace: Callable[[], str]) -> Writer:
    """Apply the chart's policy for one namespace, and wait until it is enforced there."""
    made = Writer(kubectl, make_namespace(), "class-use")
    values = ("admission.enabled=true", f'namespaces=["{made.namespace}"]')
    system = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}}
    kubectl("apply", manifest=system)
    for item in render("afresh", *values, release=made.release):
        if item["kind"] in WANTED:
            kubectl("apply", manifest=item)
    for name in ("view", "edit"):
        kubectl.apply(binding(name, "ClusterRole", f"{made.release}-{name}"), made.namespace)
    wait("the policy is enforced", lambda: "you may not use" in probe(made), seconds=120)
    return made


def probe(writer: Writer) -> str:
    """Try what must not be, without doing it: a class that no test lets her use."""
    return writer.kubectl.run(
        "create", "--dry-run=server", "-n", writer.namespace, "--as", USER,
        manifest=changed(minimal_package("probe"), {"spec.agentClassName": "nobodys"}),
    ).stderr  # fmt: skip


def test_a_user_without_use_is_refused_and_one_with_it_may_write(writer: Writer) -> None:
    answer = writer.write("another", "another")
    writer.allow("another")

    assert REFUSAL.format("another", writer.namespace) in answer
    wait("she may write", lambda: writer.write("another", "another") == "", seconds=120)


def test_a_class_that_she_may_not_use_cannot_be_switched_to(writer: Writer) -> None:
    writer.allow("claude")
    wait("she may write", lambda: writer.write() == "", seconds=120)

    answer = writer.patch('{"spec":{"agentClassName":"costly"}}')
    spec = writer.kubectl.get("wp", "demo", writer.namespace)["spec"]
    writer.allow("costly")

    assert REFUSAL.format("costly", writer.namespace) in answer
    assert spec["agentClassName"] == "claude"
    switch = '{"spec":{"agentClassName":"costly"}}'
    wait("she may switch", lambda: writer.patch(switch) == "", seconds=120)
    assert writer.patch('{"spec":{"agentClassName":"claude"}}') == ""


RETRY = '{"metadata":{"annotations":{"afresh.dev/retry-requested-at":"1"}}}'


@pytest.mark.parametrize("patch", ['{"spec":{"goal":"Mine."}}', RETRY], ids=["a goal", "a retry"])
def test_who_may_no_longer_use_a_class_cannot_have_it_do_more(writer: Writer, patch: str) -> None:
    writer.allow("claude")
    wait("she may write", lambda: writer.write() == "", seconds=120)
    writer.forbid("claude")

    wait(
        "she may not",
        lambda: REFUSAL.format("claude", writer.namespace) in writer.patch(patch),
        seconds=120,
    )
    assert writer.patch('{"metadata":{"labels":{"seen":"yes"}}}') == ""


def test_the_operators_own_writes_pass(writer: Writer) -> None:
    writer.allow("claude")
    wait("she may write", lambda: writer.write() == "", seconds=120)
    operator = f"system:serviceaccount:{SYSTEM}:{writer.release}-operator"

    done = writer.kubectl.run(
        "apply", "--server-side", "--subresource=status", "-n", writer.namespace, "--as", operator,
        manifest={**minimal_package(), "status": {"phase": "Pending"}},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert writer.kubectl.get("wp", "demo", writer.namespace)["status"]["phase"] == "Pending"


def test_another_namespace_than_those_that_are_served_is_none_of_its_business(
    writer: Writer, namespace: str
) -> None:
    for name in ("view", "edit"):
        writer.kubectl.apply(binding(name, "ClusterRole", f"{writer.release}-{name}"), namespace)

    elsewhere = Writer(writer.kubectl, namespace, writer.release)
    wait("her rights are known", lambda: "is forbidden: User" not in elsewhere.write(), seconds=120)

    assert elsewhere.write() == ""
    assert "you may not use" in probe(writer)
    assert probe(elsewhere) == ""

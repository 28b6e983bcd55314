"""Two packages on one branch, on the real API server: in one namespace and in two (S1-11)."""

import asyncio
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from afresh import clock
from afresh.contract.order import Order
from afresh.contract.words import Outcome
from afresh.kube.client import Kube
from afresh.kube.parse import parse_time
from afresh.kube.resources import WORK_PACKAGES
from tests.apiserver.kubectl import Kubectl
from tests.apiserver.operator_process import OperatorProcess
from tests.apiserver.story import PATIENCE, chain, node_of

pytestmark = pytest.mark.apiserver
URLS = ("https://git.example.com/team/api.git", "git@GIT.example.com:team/api")


@pytest.fixture
def operator(kubeconfig: Path, tmp_path: Path) -> Iterator[OperatorProcess]:
    """The operator of all namespaces."""
    process = OperatorProcess(kubeconfig, "", tmp_path / "operator.log")
    process.start()
    yield process
    if process.alive:
        process.kill()


def apply(kubectl: Kubectl, namespace: str, name: str, url: str, **spec: Any) -> None:
    """Apply a package on the branch that all of these tests share, with a Secret of its own."""
    repository = {"url": url, "branch": "afresh/shared", "secretName": f"git-{name}"}
    manifest = {
        "apiVersion": "afresh.dev/v1alpha1",
        "kind": "WorkPackage",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "agentClassName": "shared",
            "repository": repository,
            "verify": {"command": ["true"]},
            "subtasks": chain(1),
            **spec,
        },
    }
    kubectl("apply", manifest=manifest)


def apply_class(kubectl: Kubectl) -> None:
    spec = {"adapter": "Command", "command": ["true"], "image": "example.com/agent:1"}
    head = {"apiVersion": "afresh.dev/v1alpha1", "kind": "AgentClass"}
    kubectl("apply", manifest={**head, "metadata": {"name": "shared"}, "spec": spec})


async def reached(kube: Kube, namespace: str, name: str, *wanted: str) -> dict[str, Any]:
    """Return the status of the package once its reason is one of these."""
    deadline = time.monotonic() + PATIENCE
    while True:
        status = (await kube.get(WORK_PACKAGES, namespace, name)).get("status", {})
        if status.get("reason") in wanted:
            return status
        assert time.monotonic() < deadline, status
        await asyncio.sleep(0.05)


def message_of(status: dict[str, Any]) -> str:
    return next(str(item["message"]) for item in status["conditions"] if item["type"] == "Ready")


async def test_in_one_namespace_the_older_package_goes_first_and_the_younger_waits_by_name(
    operator: OperatorProcess, kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    apply_class(kubectl)
    apply(kubectl, namespace, "dormant", URLS[0], suspend=True)
    apply(kubectl, namespace, "older", URLS[0], agentClassName="late")
    kube = await Kube.connect(str(kubeconfig))
    await reached(kube, namespace, "older", "AgentClassNotFound")
    created = (await kube.get(WORK_PACKAGES, namespace, "older"))["metadata"]["creationTimestamp"]
    while clock.now() < parse_time(created) + timedelta(seconds=1):
        await asyncio.sleep(0.05)  # creation times have whole seconds
    apply(kubectl, namespace, "a-younger", URLS[1])

    async with node_of(kubeconfig, namespace) as node:
        waiting = await reached(kube, namespace, "a-younger", "BranchInUse")
        assert node.started == []
        edit = {"op": "replace", "path": "/spec/agentClassName", "value": "shared"}
        await kube.patch(WORK_PACKAGES, namespace, "older", [edit])
        await reached(kube, namespace, "older", "Succeeded")
        await reached(kube, namespace, "a-younger", "Succeeded")
    await kube.close()

    assert "the package older" in message_of(waiting)
    assert [job.partition("-t0")[0] for _, job in node.started] == ["older", "a-younger"]


async def test_a_package_of_another_namespace_keeps_nobody_from_the_branch(
    operator: OperatorProcess,
    kubectl: Kubectl,
    kubeconfig: Path,
    make_namespace: Callable[[], str],
) -> None:
    theirs, ours = make_namespace(), make_namespace()
    apply_class(kubectl)
    apply(kubectl, theirs, "squatter", URLS[0], suspend=True)
    apply(kubectl, theirs, "stalled", URLS[0], agentClassName="nowhere")
    kube = await Kube.connect(str(kubeconfig))
    await reached(kube, theirs, "stalled", "AgentClassNotFound")
    apply(kubectl, ours, "p", URLS[1])

    async with node_of(kubeconfig, ours) as node:
        status = await reached(kube, ours, "p", "Succeeded", "BranchInUse")
    await kube.close()

    assert status["reason"] == "Succeeded"
    assert len(node.started) == 1


async def test_a_branch_with_anothers_commits_stalls_the_package_and_names_nobody(
    operator: OperatorProcess, kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    apply_class(kubectl)
    apply(kubectl, namespace, "p", URLS[0])

    def judge(order: Order) -> Outcome:
        return Outcome.BRANCH_IN_USE

    kube = await Kube.connect(str(kubeconfig))
    async with node_of(kubeconfig, namespace, judge) as node:
        status = await reached(kube, namespace, "p", "BranchInUse")
    await kube.close()

    assert status["phase"] == "Stalled"
    assert status["subtasks"][0]["consecutiveFailures"] == 0
    assert len(node.started) == 1

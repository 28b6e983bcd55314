"""The commands of `afresh` and the real operator: a person asks, and the package goes on."""

import asyncio
import json
import time
from pathlib import Path

from afresh.api.work_package import CANCEL_ANNOTATION
from afresh.contract.order import Order
from afresh.contract.words import Outcome
from afresh.kube.client import Kube
from afresh.kube.resources import JOBS, WORK_PACKAGES
from tests.apiserver.commands import Afresh
from tests.apiserver.kubectl import Kubectl, Manifest
from tests.apiserver.operator_process import OperatorProcess
from tests.apiserver.story import PATIENCE, apply, ended, node_of
from tests.apiserver.test_operator import operator, pytestmark

__all__ = ["operator", "pytestmark"]


def blocked_without_direction(order: Order) -> Outcome:
    task = order.tasks[0]
    return Outcome.SUCCESS if task.id == "B" or task.guidance else Outcome.BLOCKED


async def test_blocked_subtask_is_reported_guided_and_done(
    operator: OperatorProcess, afresh: Afresh, kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    apply(kubectl, namespace, [{"id": "A", "prompt": "a"}, {"id": "B", "prompt": "b"}])

    async with node_of(kubeconfig, namespace, blocked_without_direction) as node:
        await ended(node.kube, namespace, "NeedsReview")
        report = await asyncio.to_thread(afresh, "report", "p")
        guided = await asyncio.to_thread(afresh, "guide", "p", "A", "Use JWT.")
        package = await ended(node.kube, namespace)

    assert "### A: Blocked\n\n> The episode ended with Blocked." in report.stdout
    assert (guided.returncode, guided.stderr) == (0, "")
    assert [subtask for subtask, _ in node.started] == ["A", "B", "A"]
    assert package["status"]["subtasks"][0]["observedRevision"] == 1


async def test_running_episode_is_cancelled_and_not_counted(
    operator: OperatorProcess, afresh: Afresh, kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    apply(kubectl, namespace, [{"id": "A", "prompt": "a"}])

    async with node_of(kubeconfig, namespace) as node:
        node.seconds = PATIENCE
        await ended(node.kube, namespace, "Running")
        assert (await asyncio.to_thread(afresh, "suspend", "p")).returncode == 0
        cancelled = await asyncio.to_thread(afresh, "cancel", "p")
        package = await stopped(node.kube, namespace)

    record = package["status"]["subtasks"][0]
    asked = package["metadata"]["annotations"][CANCEL_ANNOTATION]
    assert cancelled.stdout == "p: A is asked to stop.\n"
    assert package["status"]["lastHandledCancel"] == asked
    assert (record["reason"], record["consecutiveFailures"]) == ("Cancelled", 0)


async def stopped(kube: Kube, namespace: str) -> Manifest:
    """Wait until the request is answered and the Job is gone; nobody here removes its pod."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        package = await kube.get(WORK_PACKAGES, namespace, "p")
        jobs = await kube.list_items(JOBS, namespace)
        if package["status"].get("lastHandledCancel") and not jobs:
            return package
        await asyncio.sleep(0.05)
    raise AssertionError(f"not stopped: {package['status']}")


async def test_work_that_a_review_rejects_is_done_again_and_counted_once(
    operator: OperatorProcess, afresh: Afresh, kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    apply(kubectl, namespace, [{"id": "A", "prompt": "a"}])

    async with node_of(kubeconfig, namespace) as node:
        await ended(node.kube, namespace)
        command = ("retry", "p", "A", "--because", "rejected")
        retried = await asyncio.to_thread(afresh, *command)
        package = await done_again(node.kube, namespace)

    record = package["status"]["subtasks"][0]
    output = (await asyncio.to_thread(afresh, "report", "p", "-o", "json")).stdout
    assert (retried.returncode, retried.stderr) == (0, "")
    assert (record["rejections"], record["hallucinations"], record["attempts"]) == (1, 0, 2)
    assert json.loads(output)["subtasks"][0]["rejections"] == 1


async def done_again(kube: Kube, namespace: str) -> Manifest:
    """Wait until the raised revision is done."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        package = await kube.get(WORK_PACKAGES, namespace, "p")
        record = package["status"]["subtasks"][0]
        if (record["observedRevision"], record["phase"]) == (1, "Done"):
            return package
        await asyncio.sleep(0.05)
    raise AssertionError(f"not done anew: {package['status']}")

"""The real operator on a real API server; the test plays the node."""

import asyncio
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from afresh.contract.order import Order
from afresh.contract.words import Outcome
from afresh.kube.resources import JOBS, NETWORK_POLICIES, SUBTASKS, WORK_PACKAGES
from tests.apiserver.kubectl import Kubectl
from tests.apiserver.operator_process import OperatorProcess
from tests.apiserver.story import PATIENCE, apply, chain, ended, holds, node_of

pytestmark = pytest.mark.apiserver


@pytest.fixture
def operator(kubeconfig: Path, namespace: str, tmp_path: Path) -> Any:
    process = OperatorProcess(kubeconfig, namespace, tmp_path / "operator.log")
    process.start()
    yield process
    if process.alive:
        process.kill()


async def test_a_package_runs_to_its_end_one_subtask_after_the_other(
    operator: OperatorProcess, kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    apply(kubectl, namespace, chain(3))

    async with node_of(kubeconfig, namespace) as node:
        package = await ended(node.kube, namespace)
        children = await node.kube.list_items(SUBTASKS, namespace)

    status = package["status"]
    assert [subtask for subtask, _ in node.started] == ["T000", "T001", "T002"]
    assert status["progress"] == "3/3"
    assert [item["marker"] for item in status["subtasks"]] == ["[x]"] * 3
    assert status["headCommit"] == f"{3:040x}"
    assert [child["status"]["marker"] for child in children] == ["[x]"] * 3
    assert [len(child["status"]["attempts"]) for child in children] == [1, 1, 1]
    assert {item["type"]: item["status"] for item in status["conditions"]} == {
        "Ready": "True",
        "Progressing": "False",
        "Stalled": "False",
    }


async def test_every_line_of_the_log_about_a_package_names_it_and_its_episodes(
    operator: OperatorProcess, kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    apply(kubectl, namespace, chain(2))

    async with node_of(kubeconfig, namespace) as node:
        await ended(node.kube, namespace)

    lines = [json.loads(line) for line in operator.log.read_text().splitlines()]
    decided = [line for line in lines if line["event"] == "decided"]
    about = [line for line in lines if namespace in json.dumps(line) and line["event"] != "started"]
    jobs = [job for _, job in node.started]
    assert {(line.get("namespace"), line.get("name")) for line in (*about, *decided)} == {
        (namespace, "p")
    }
    assert [job for line in decided for job in line["started"]] == jobs
    assert [job for line in decided for job in line["ended"]] == jobs


async def test_the_policy_of_the_namespace_is_there_before_the_first_job_and_written_once(
    operator: OperatorProcess, kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    apply(kubectl, namespace, chain(3))

    async with node_of(kubeconfig, namespace) as node:
        await ended(node.kube, namespace)
        jobs = await node.kube.list_items(JOBS, namespace)
        (policy,) = await node.kube.list_items(NETWORK_POLICIES, namespace)

    begun = min(job["metadata"]["creationTimestamp"] for job in jobs)
    assert policy["metadata"]["name"] == "afresh-episodes"
    assert policy["metadata"]["generation"] == 1
    assert policy["metadata"]["creationTimestamp"] <= begun


async def test_a_subtask_that_fails_three_times_is_skipped_and_the_others_go_on(
    operator: OperatorProcess, kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    apply(kubectl, namespace, [{"id": "A", "prompt": "a"}, {"id": "B", "prompt": "b"}])

    def judge(order: Order) -> Outcome:
        return Outcome.VERIFY_FAILED if order.tasks[0].id == "A" else Outcome.SUCCESS

    async with node_of(kubeconfig, namespace, judge) as node:
        package = await ended(node.kube, namespace, "NeedsReview")

    assert [subtask for subtask, _ in node.started] == ["A", "A", "A", "B"]
    assert [item["marker"] for item in package["status"]["subtasks"]] == ["[S]", "[x]"]
    assert [item["id"] for item in package["status"]["reviews"]] == ["A"]


async def test_a_missing_class_stalls_the_package_until_it_is_created(
    operator: OperatorProcess, kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    apply(kubectl, namespace, chain(1))
    kubectl("delete", "agentclass", f"class-{namespace}")
    kubectl("delete", "wp", "p", "-n", namespace)
    apply(kubectl, namespace, chain(1), agentClassName=f"late-{namespace}")

    async with node_of(kubeconfig, namespace) as node:
        stalled = await ended(node.kube, namespace, "Stalled")
        late = {
            "apiVersion": "afresh.dev/v1alpha1",
            "kind": "AgentClass",
            "metadata": {"name": f"late-{namespace}"},
            "spec": {"adapter": "Command", "command": ["true"], "image": "example.com/agent:1"},
        }
        kubectl("apply", manifest=late)
        await ended(node.kube, namespace)

    ready = next(item for item in stalled["status"]["conditions"] if item["type"] == "Ready")
    assert f'There is no AgentClass "late-{namespace}"; create it' in ready["message"]


async def test_an_operator_killed_again_and_again_runs_nothing_twice_and_loses_nothing(
    operator: OperatorProcess, kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    apply(kubectl, namespace, chain(12))
    chance = random.Random(20300102)
    kills = 0

    async with node_of(kubeconfig, namespace) as node:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            seen = len(node.started)
            while len(node.started) == seen and time.monotonic() < deadline:
                package = await node.kube.get(WORK_PACKAGES, namespace, "p")
                if package.get("status", {}).get("phase") == "Succeeded":
                    break
                await asyncio.sleep(0.01)
            if package.get("status", {}).get("phase") == "Succeeded":
                break
            await asyncio.sleep(chance.uniform(0, 0.15))
            operator.kill()
            kills += 1
            operator.start()
        package = await ended(node.kube, namespace)

    assert kills >= 3
    assert [subtask for subtask, _ in node.started] == [f"T{n:03}" for n in range(12)]
    assert {item["attempts"] for item in package["status"]["subtasks"]} == {1}
    assert package["status"]["usage"]["episodes"] == 12


async def test_a_child_that_was_deleted_by_hand_is_made_again(
    operator: OperatorProcess, kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    apply(kubectl, namespace, chain(1))

    async with node_of(kubeconfig, namespace) as node:
        await ended(node.kube, namespace)
        kubectl("delete", "subtask", "p-t000", "-n", namespace)
        deadline = time.monotonic() + PATIENCE
        markers: list[str] = []
        while markers != ["[x]"] and time.monotonic() < deadline:
            children = await node.kube.list_items(SUBTASKS, namespace)
            markers = [child.get("status", {}).get("marker", "") for child in children]
            await asyncio.sleep(0.05)

    assert markers == ["[x]"]
    assert len(node.started) == 1


async def test_a_stopped_operator_ends_well(operator: OperatorProcess, namespace: str) -> None:
    await holds("it has started", lambda: "started" in operator.log.read_text())

    assert operator.stop() == 0

"""What the operator tells of a package in Events, as `kubectl describe` and `events` show them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from afresh.contract.order import Order
from afresh.contract.words import Outcome
from afresh.kube.resources import SUBTASKS, Manifest
from tests.apiserver.kubectl import Kubectl
from tests.apiserver.operator_process import OperatorProcess
from tests.apiserver.story import apply, chain, ended, holds, node_of
from tests.apiserver.test_operator import operator

pytestmark = pytest.mark.apiserver
__all__ = ["operator"]
TOLD = [
    ("T000", "EpisodeStarted"), ("T000", "Success"),
    ("T001", "EpisodeStarted"), ("T001", "VerifyFailed"),
    ("T001", "EpisodeStarted"), ("T001", "Success"),
]  # fmt: skip


def fails_once(subtask: str) -> Callable[[Order], Outcome]:
    """Judge every episode as done but for the first one of a subtask."""
    seen: list[str] = []

    def judge(order: Order) -> Outcome:
        id = order.tasks[0].id if order.tasks else ""
        seen.append(id)
        failed = id == subtask and seen.count(id) == 1
        return Outcome.VERIFY_FAILED if failed else Outcome.SUCCESS

    return judge


def events_of_subtasks(kubectl: Kubectl, namespace: str) -> list[Manifest]:
    found = json.loads(kubectl("get", "events", "-n", namespace, "-o", "json"))["items"]
    return [item for item in found if item.get("related")]


async def test_each_episode_of_a_subtask_has_two_events_on_the_package_related_to_the_subtask(
    operator: OperatorProcess, kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    apply(kubectl, namespace, chain(2))

    async with node_of(kubeconfig, namespace, fails_once("T001")) as node:
        package = await ended(node.kube, namespace)
        children = await node.kube.list_items(SUBTASKS, namespace)

        await holds(
            "the Events are written", lambda: len(events_of_subtasks(kubectl, namespace)) > 5
        )

    events = events_of_subtasks(kubectl, namespace)
    assert {item["involvedObject"]["uid"] for item in events} == {package["metadata"]["uid"]}
    ids = {child["metadata"]["uid"]: child["spec"]["id"] for child in children}
    assert {item["related"]["kind"] for item in events} == {"Subtask"}
    reasons = [(ids[item["related"]["uid"]], item["reason"]) for item in events]
    assert sorted(reasons) == sorted(TOLD)
    assert all(item["message"].startswith(f"{ids[item['related']['uid']]}: ") for item in events)

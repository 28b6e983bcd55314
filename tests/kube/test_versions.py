"""Operator and runner of different versions, as an upgrade in the middle of an episode has them."""

import json
from typing import Any

from afresh.contract import report
from afresh.contract.order import Task
from afresh.contract.report import Report
from afresh.contract.words import Outcome
from afresh.core.history.classify import Finished, sync_verdict
from afresh.kube.resources import PODS, Manifest
from tests.kube.journeys import by_subtask
from tests.kube.world import World, check_rest, make_world
from tests.make import NOW, make_entry, make_episode

REFUSED = "this runner knows no Order of version 2"


def ended(world: World) -> Manifest | None:
    """The first pod whose runner has told its end."""
    pods = (
        pod for pod in world.api.of_kind(PODS) if pod.get("status", {}).get("phase") != "Running"
    )
    return next((pod for pod in pods if pod.get("status")), None)


def says(message: str) -> Any:
    """Let the runner have said something else than it did, before the operator sees it."""

    def act(world: World) -> None:
        pod = ended(world)
        assert pod is not None
        status = json.loads(json.dumps(pod["status"]))
        runner = next(item for item in status["containerStatuses"] if item["name"] == "runner")
        runner["state"]["terminated"]["message"] = message
        world.api.put_part(PODS, pod, "status", status)

    return (lambda world: ended(world) is not None, act)


async def test_a_report_that_the_operator_cannot_read_costs_an_episode_and_no_work() -> None:
    worked: list[str] = []

    def judge(task: Task, attempt: int) -> Outcome:
        worked.append(task.id)
        return Outcome.SUCCESS

    content = {"episode": "e", "stage": "done", "results": [{"id": "A", "outcome": "Enlightened"}]}
    world = make_world(
        {"subtasks": [make_entry("A"), make_entry("B")]},
        judge=judge,
        script=(says(json.dumps(content)),),
    )

    await world.drive()

    status = world.status()
    assert worked == ["A", "B"]
    assert [item.get("commit", "") for item in status["subtasks"]] == ["A-r0", "B-r0"]
    assert [item["consecutiveFailures"] for item in status["subtasks"]] == [0, 0]
    assert (status["phase"], status["usage"]["transientRetries"]) == ("Succeeded", 1)
    await check_rest(world)


async def test_a_runner_that_cannot_read_its_order_stalls_the_package_until_it_is_replaced() -> (
    None
):
    messages: list[str] = []
    refusal = Report(episode="", stage="start", final=True, log_tail=REFUSED)
    stalled = (
        lambda world: world.status().get("phase") == "Stalled",
        lambda world: messages.append(world.status()["conditions"][0]["message"]),
    )
    world = make_world(
        {"subtasks": [make_entry("A")]},
        judge=by_subtask(),
        script=(says(report.fit(refusal)), stalled),
    )

    await world.drive()

    (message,) = messages
    assert REFUSED in message
    assert "runner.image" in message
    status = world.status()
    assert status["phase"] == "Succeeded"
    assert status["subtasks"][0]["consecutiveFailures"] == 0


def test_a_sync_whose_order_could_not_be_read_has_not_succeeded() -> None:
    refusal = Report(episode="", stage="start", final=True, log_tail=REFUSED)

    verdict = sync_verdict(make_episode(report=refusal), now=NOW)

    assert isinstance(verdict, Finished)
    assert verdict.outcome is Outcome.CONFIG

"""Stored objects that cannot be read stall one package, with a sentence, and nobody else."""

from typing import Any

from afresh.contract.words import Outcome
from afresh.kube.client import AGENT_CLASSES, WORK_PACKAGES
from tests.kube.test_journeys import KEY, always, make_world
from tests.kube.world import Operator, drive
from tests.make import NOW, make_package, seconds


def message_of(world: Any) -> str:
    status = world.api.objects[WORK_PACKAGES, *KEY]["status"]
    assert (status["phase"], status["reason"]) == ("Stalled", "InvalidSpec")
    return str(status["conditions"][0]["message"])


async def step(world: Any) -> None:
    operator = Operator(world.api)
    operator.watch()
    await operator.step(KEY, at=seconds(0))


async def test_a_class_that_cannot_be_read_stalls_the_package_until_it_is_corrected() -> None:
    world = make_world({}, always(Outcome.SUCCESS))
    spec = world.api.objects[AGENT_CLASSES, "", "command"]["spec"]
    spec["adapter"] = "Telepathy"

    await step(world)
    assert "AgentClass command cannot be read: spec.adapter" in message_of(world)

    spec["adapter"] = "Command"
    await drive(world, KEY)
    assert world.api.objects[WORK_PACKAGES, *KEY]["status"]["phase"] == "Succeeded"


async def test_saying_so_twice_writes_once() -> None:
    world = make_world({}, always(Outcome.SUCCESS))
    world.api.objects[AGENT_CLASSES, "", "command"]["spec"]["adapter"] = "Telepathy"

    await step(world)
    writes = world.api.writes
    await step(world)

    assert world.api.writes == writes == 1


async def test_a_package_beside_one_that_cannot_be_read_goes_on() -> None:
    world = make_world({}, always(Outcome.SUCCESS))
    other = make_package(metadata={"name": "older", "uid": "other"}).to_manifest()
    other["metadata"]["creationTimestamp"] = (NOW - seconds(99)).isoformat()
    other["spec"]["subtasks"] = "none"
    world.api.put_new(WORK_PACKAGES, other)

    await drive(world, KEY)

    assert world.api.objects[WORK_PACKAGES, *KEY]["status"]["phase"] == "Succeeded"

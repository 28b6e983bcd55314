"""Stored objects that cannot be read stall one package, with a sentence, and nobody else."""

from afresh.kube.resources import AGENT_CLASSES, WORK_PACKAGES
from tests.kube.journeys import by_subtask
from tests.kube.world import KEY, Operator, World, make_world
from tests.make import NOW, make_package, seconds


def message_of(world: World) -> str:
    status = world.api.objects[WORK_PACKAGES, *KEY]["status"]
    assert (status["phase"], status["reason"]) == ("Stalled", "InvalidSpec")
    return str(status["conditions"][0]["message"])


def set_adapter(world: World, name: str) -> None:
    old = world.api.objects[AGENT_CLASSES, "", "command"]
    world.api.put_part(AGENT_CLASSES, old, "spec", {**old["spec"], "adapter": name})


async def step(world: World) -> None:
    operator = Operator(world.api)
    await operator.turn()


async def test_a_class_that_cannot_be_read_stalls_the_package_until_it_is_corrected() -> None:
    world = make_world(judge=by_subtask())
    set_adapter(world, "Telepathy")

    await step(world)
    assert "AgentClass command cannot be read: spec.adapter" in message_of(world)

    set_adapter(world, "Command")
    await world.drive()
    assert world.api.objects[WORK_PACKAGES, *KEY]["status"]["phase"] == "Succeeded"


async def test_saying_so_twice_writes_once() -> None:
    world = make_world(judge=by_subtask())
    set_adapter(world, "Telepathy")

    await step(world)
    writes = world.api.writes
    await step(world)

    assert world.api.writes == writes == 1


async def test_a_package_beside_one_that_cannot_be_read_goes_on() -> None:
    world = make_world(judge=by_subtask())
    other = make_package(metadata={"name": "older", "uid": "other"}).to_manifest()
    other["metadata"]["creationTimestamp"] = (NOW - seconds(99)).isoformat()
    other["spec"]["subtasks"] = "none"
    world.api.put_new(WORK_PACKAGES, other)

    await world.drive()

    assert world.api.objects[WORK_PACKAGES, *KEY]["status"]["phase"] == "Succeeded"

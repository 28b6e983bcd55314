"""What a server that refuses pushes costs, counted in agents over hours."""

import pytest

from tests.kube.journeys import by_subtask, entries
from tests.kube.world import World, check_rest, make_world
from tests.make import seconds

HOURS = 4 * 3600


async def go_on_until(world: World, clock: float) -> None:
    while world.api.clock < seconds(clock):
        if not await world.turn() and world.operator.due:
            world.api.clock = max(world.api.clock, min(world.operator.due.values()))


@pytest.mark.parametrize("parallelism", [1, 3])
async def test_server_that_refuses_from_the_start_costs_no_agent_until_it_allows(
    parallelism: int,
) -> None:
    package = {"subtasks": entries("ABC"), "parallelism": parallelism}
    world = make_world(
        package, judge=by_subtask(), refuses_push=lambda clock: clock < seconds(HOURS)
    )

    await go_on_until(world, HOURS - 1)
    assert (world.status()["phase"], world.status()["reason"]) == ("Stalled", "Config")
    assert world.node.paid == []
    assert len(world.node.ran) == parallelism, "the others are probes of the runner alone"

    await world.drive()
    assert world.status()["phase"] == "Succeeded"
    assert sorted(world.node.paid) == ["A", "B", "C"]
    await check_rest(world)


async def test_work_that_is_refused_later_is_delivered_and_its_agent_is_paid_once() -> None:
    world = make_world({"subtasks": entries("ABC")}, judge=by_subtask())

    def refuses(_: object) -> bool:
        done = world.status().get("progress", "").startswith("1/")
        return done and world.api.clock < seconds(HOURS)

    world.node.refuses_push = refuses

    await go_on_until(world, HOURS - 1)
    assert (world.status()["phase"], world.node.paid) == ("Stalled", ["A", "B"])

    await world.drive()
    assert world.status()["phase"] == "Succeeded"
    assert world.node.paid == ["A", "B", "C"]
    assert world.status()["subtasks"][1]["commit"] == "B-kept"
    await check_rest(world)

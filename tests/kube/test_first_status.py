"""What a user sees of a new package, write by write, until its first episode runs."""

import pytest

from afresh.kube.loop import MANY
from afresh.kube.resources import JOBS, SUBTASKS
from tests.kube.journeys import by_subtask
from tests.kube.world import World, make_world
from tests.make import make_entry

Sight = tuple[str, int, int, bool]


def sights(world: World) -> list[Sight]:
    """The phase, the Subtasks, the Jobs, and whether a Subtask tells anything, as they change."""
    seen: list[Sight] = []

    def look(_: str) -> None:
        children = world.api.of_kind(SUBTASKS)
        phase, jobs = world.status().get("phase", ""), len(world.api.of_kind(JOBS))
        now = (phase, len(children), jobs, any("status" in child for child in children))
        if now not in seen:
            seen.append(now)

    world.api.around_write = look
    return seen


def world_of(subtasks: int) -> World:
    entries = [make_entry(f"T{number:03}") for number in range(subtasks)]
    return make_world({"subtasks": entries, "maxEpisodes": 200}, judge=by_subtask())


@pytest.mark.parametrize("subtasks", [MANY + 1, 200])
async def test_a_long_package_is_pending_before_its_subtasks_are_made(subtasks: int) -> None:
    world = world_of(subtasks)
    seen = sights(world)

    await world.operator.turn()

    assert seen[:3] == [("", 0, 0, False), ("Pending", 0, 0, False), ("Pending", 1, 0, False)]
    assert world.status()["phase"] == "Running"


async def test_a_package_runs_before_the_statuses_of_its_subtasks_are_written() -> None:
    world = world_of(3)
    seen = sights(world)

    await world.operator.turn()

    assert seen[-3:] == [("", 3, 1, False), ("Running", 3, 1, False), ("Running", 3, 1, True)]


async def test_a_long_package_waits_for_its_subtasks_in_its_status_and_has_no_records() -> None:
    world, phases = world_of(MANY + 1), []
    world.api.around_write = lambda _: phases.append(world.status())

    await world.operator.turn()

    first = next(status for status in phases if status)
    (ready,) = (item for item in first["conditions"] if item["type"] == "Ready")
    assert (first["progress"], first["reason"]) == (f"0/{MANY + 1}", "EpisodeNotStarted")
    assert ready["message"] == "Its Subtasks are being created."
    assert "subtasks" not in first


async def test_a_long_package_that_is_stopped_while_its_subtasks_are_made_goes_on() -> None:
    world = world_of(MANY + 1)
    halfway: list[World] = []

    def split(_: str) -> None:
        if not halfway and len(world.api.of_kind(SUBTASKS)) == MANY // 2:
            halfway.append(world.fork())

    world.api.around_write = split
    await world.operator.turn()
    await halfway[0].drive()

    assert halfway[0].status()["phase"] == "Succeeded"
    assert len(halfway[0].node.ran) == MANY + 1

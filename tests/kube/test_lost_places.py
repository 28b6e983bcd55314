"""A queue takes a place away while the operator does not yet see what becomes of Jobs."""

from typing import Any

import pytest

from afresh.contract.words import Outcome
from afresh.kube.resources import JOBS
from tests.kube.journeys import entries
from tests.kube.world import World, make_world

PACKAGE: dict[str, Any] = {"subtasks": entries("AB"), "queueName": "agents"}


def with_queue(*, hints: bool) -> World:
    world = make_world(PACKAGE, judge=lambda *_: Outcome.SUCCESS, hints=hints, lasts=lambda *_: 2)
    world.queue_open = True
    return world


# With hints, the end is known before the pod is gone.
@pytest.mark.parametrize(("turns", "hints"), [(2, False), (5, True)])
async def test_an_episode_that_lost_its_place_never_runs_beside_the_next_one(
    turns: int, hints: bool
) -> None:
    world = with_queue(hints=hints)
    for _ in range(turns):
        await world.turn()
    if not hints:
        world.restart()  # it lists Jobs before the place is taken away, and hears of none after

    world.lagging = (JOBS,)
    world.close_queue()
    world.open_queue()
    for _ in range(3):
        await world.turn()  # the node itself fails if two run side by side
    world.lagging = ()
    await world.drive()

    assert world.status()["phase"] == "Succeeded"
    assert world.status()["usage"]["episodes"] == 2

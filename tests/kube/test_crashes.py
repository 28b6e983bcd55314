"""Every story again, with the operator killed around every write and with stale views.

A story is told once; at each write, and at each turn, the world is split off as it is then, and
goes on with an operator that has just started. All must end alike, with the same side effects.
"""

from typing import Any

import pytest

from afresh.contract.plan_file import digest
from afresh.kube.resources import JOBS, PODS
from tests.kube.journeys import JOURNEYS, LONG, Journey, by_subtask, entries
from tests.kube.world import KEY, World, check_rest, make_world, side_effects

pytestmark = pytest.mark.slow
MATRIX = pytest.mark.parametrize("journey", JOURNEYS, ids=lambda journey: journey.name)


async def ending(journey: Journey, world: World, *, exact: bool) -> dict[str, Any]:
    """Go on to the end, and return what must not depend on the way there.

    Not `exact`: how often something was met depends on the time, what became of it does not.
    """
    await world.drive()
    await check_rest(world)
    found: dict[str, Any] = {}
    for name in journey.names:
        effects = side_effects(world, name)
        assert digest(effects["plan"]) == world.status(name)["planDigest"]
        if not exact:
            ends = [(record[0], record[1], record[3]) for record in effects["records"]]
            effects = {"phase": effects["phase"], "ends": ends, "plan": effects["plan"]}
        found[name] = effects
    if exact:
        found["ran"] = sorted(world.node.ran)
        assert len(set(world.node.ran)) == len(world.node.ran)
    return found


@MATRIX
async def test_a_journey_ends_alike_wherever_the_operator_is_killed(journey: Journey) -> None:
    calm, splits, seen = journey.world(), {}, set()

    def split(instant: str) -> None:
        # To be killed before a write is to be killed after the one before, but for what the
        # cluster did in between.
        now = (len(calm.api.changes), calm.api.clock)
        if now not in seen:
            seen.add(now)
            splits[f"{instant} write {calm.api.writes}"] = calm.fork()

    calm.api.around_write = split
    want = await ending(journey, calm, exact=journey.exact)

    assert len(splits) >= calm.api.writes
    for where, world in splits.items():
        assert await ending(journey, world, exact=journey.exact) == want, f"killed {where}"


@MATRIX
async def test_a_journey_ends_alike_with_a_stale_view_at_any_turn(journey: Journey) -> None:
    calm, splits = journey.world(), []
    for _ in range(300):
        known = len(calm.api.changes)
        if not await calm.turn():
            if not calm.operator.due:
                break
            calm.api.clock = max(calm.api.clock, min(calm.operator.due.values()))
        elif len(calm.api.changes) > known:
            splits.append(calm.fork(seen=known))
    want = await ending(journey, calm, exact=journey.exact)

    assert splits
    for number, world in enumerate(splits):
        assert await ending(journey, world, exact=journey.exact) == want, (
            f"stale at change {number}"
        )


@MATRIX
@pytest.mark.parametrize("kind", [PODS, JOBS], ids=["pods", "Jobs"])
async def test_a_journey_ends_alike_when_a_watch_lags_behind(journey: Journey, kind: Any) -> None:
    exact = journey.exact and not journey.script
    want = await ending(journey, journey.world(), exact=exact)

    world = journey.world()
    for turn in range(200):
        world.lagging = (kind,) if turn % 4 else ()
        if not await world.turn() and world.operator.due:
            world.api.clock = max(world.api.clock, min(world.operator.due.values()))
    world.lagging = ()

    assert await ending(journey, world, exact=exact) == want


async def test_a_job_deleted_before_its_pod_was_seen_is_not_made_again_while_the_pod_works() -> (
    None
):
    package = {"subtasks": entries("A"), "queueName": "agents"}
    world = make_world(package, judge=by_subtask(), lasts=lambda *_: LONG)
    world.open_queue()
    world.lagging = (PODS,)
    await world.turn()
    [job] = world.api.of_kind(JOBS)

    world.api.remove(JOBS, KEY.namespace, job["metadata"]["name"], uid=job["metadata"]["uid"])
    for _ in range(LONG):  # the node fails the test when two agents work side by side
        await world.turn()
    world.lagging = ()
    await world.drive()

    assert world.status()["phase"] == "Succeeded"
    assert len(world.node.ran) == 2

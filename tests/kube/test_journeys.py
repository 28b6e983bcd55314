"""Every story ends as told; at rest the branch says what the status says."""

import pytest

from afresh.contract.plan_file import digest
from tests.kube.journeys import JOURNEYS, Journey
from tests.kube.world import check_rest, side_effects


def named(journey: Journey) -> str:
    return journey.name


@pytest.mark.parametrize("journey", JOURNEYS, ids=named)
async def test_a_journey_ends_as_expected(journey: Journey) -> None:
    world = journey.world()

    await world.drive()

    for name in journey.names:
        effects = side_effects(world, name)
        markers = "".join(record[1] for record in effects["records"] if record[4] != "Removed")
        assert (effects["phase"], markers) == (journey.want_phase, journey.want_markers)
        assert digest(effects["plan"]) == world.status(name)["planDigest"]
    assert len(set(world.node.ran)) == len(world.node.ran) or not journey.exact
    await check_rest(world)

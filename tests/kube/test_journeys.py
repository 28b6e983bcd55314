"""Named stories driven to rest, calmly and with faults.

Every story is told again with the operator killed before and after every write, and with a stale
view at every turn. All must end alike, with the same side effects.
"""

from collections.abc import Callable
from typing import Any

import pytest

from afresh.contract.order import Task
from afresh.contract.words import Outcome
from afresh.kube.client import AGENT_CLASSES, WORK_PACKAGES
from afresh.kube.queue import Key
from tests.kube.world import ApiServer, Judge, World, drive, side_effects
from tests.make import make_class, make_entry, make_package

KEY = Key("team-a", "token-auth")


def always(outcome: Outcome) -> Judge:
    return lambda _task, _attempt: outcome


def by_subtask(**outcomes: list[Outcome]) -> Judge:
    """The outcomes of each subtask's attempts, in order; the last one repeats."""

    def judge(task: Task, attempt: int) -> Outcome:
        mine = outcomes.get(task.id, [Outcome.SUCCESS])
        return mine[min(attempt, len(mine)) - 1]

    return judge


CHAIN = [make_entry("A"), make_entry("B", dependsOn=["A"]), make_entry("C", dependsOn=["B"])]
GOOD, AUTH = Outcome.SUCCESS, Outcome.AUTH
BAD, LOST = Outcome.VERIFY_FAILED, Outcome.INFRASTRUCTURE

JOURNEYS = [
    pytest.param({"subtasks": CHAIN}, always(Outcome.SUCCESS), "Succeeded", "[x][x][x]",
                 id="everything succeeds"),
    pytest.param({"subtasks": CHAIN}, by_subtask(B=[BAD, BAD, Outcome.SUCCESS]), "Succeeded",
                 "[x][x][x]", id="one succeeds at the third attempt"),
    pytest.param({"subtasks": [make_entry("A"), make_entry("B")]}, by_subtask(A=[BAD]),
                 "NeedsReview", "[S][x]", id="one fails for good and the other goes on"),
    pytest.param({"subtasks": CHAIN}, by_subtask(B=[Outcome.BLOCKED]), "NeedsReview", "[x][!][ ]",
                 id="one is blocked and its dependent waits"),
    pytest.param({"subtasks": CHAIN}, by_subtask(A=[LOST, LOST, GOOD], C=[AUTH, GOOD]), "Succeeded",
                 "[x][x][x]", id="trouble outside and a wrong key pass"),
    pytest.param({"subtasks": [make_entry(i) for i in "ABCD"], "parallelism": 3},
                 by_subtask(C=[BAD, Outcome.SUCCESS]), "Succeeded", "[x][x][x][x]",
                 id="three run beside each other"),
]  # fmt: skip


def make_world(spec: dict[str, Any], judge: Judge) -> World:
    api = ApiServer()
    world = World(api, judge)
    api.put_new(AGENT_CLASSES, make_class().to_manifest())
    package = make_package(**spec).to_manifest()
    api.put_new(WORK_PACKAGES, {key: value for key, value in package.items() if key != "status"})
    return world


Told = Callable[[dict[str, Any], Judge], Any]


@pytest.mark.parametrize(("spec", "judge", "want_phase", "want_markers"), JOURNEYS)
async def test_a_journey_ends_as_told(
    spec: dict[str, Any], judge: Judge, want_phase: str, want_markers: str
) -> None:
    world = make_world(spec, judge)

    await drive(world, KEY)

    effects = side_effects(world, KEY)
    assert effects["phase"] == want_phase
    assert "".join(marker for _, marker, *_ in effects["records"]) == want_markers
    assert len(set(world.ran)) == len(world.ran)


@pytest.mark.parametrize(("spec", "judge", "want_phase", "want_markers"), JOURNEYS)
async def test_a_journey_ends_alike_wherever_the_operator_is_killed(
    spec: dict[str, Any], judge: Judge, want_phase: str, want_markers: str
) -> None:
    calm = make_world(spec, judge)
    await drive(calm, KEY)
    want = side_effects(calm, KEY)

    for write in range(1, calm.api.writes + 1):
        for instant in ("before", "after"):
            world = make_world(spec, judge)
            world.api.deadly = (write, instant)
            await drive(world, KEY)
            assert world.api.deadly is None, "the operator was not killed"
            got = side_effects(world, KEY)
            got["ran"], ran = sorted(got["ran"]), sorted(want["ran"])
            assert got == {**want, "ran": ran}, f"killed {instant} write {write}"


@pytest.mark.parametrize(("spec", "judge", "want_phase", "want_markers"), JOURNEYS)
async def test_a_journey_ends_alike_with_a_stale_view_at_any_turn(
    spec: dict[str, Any], judge: Judge, want_phase: str, want_markers: str
) -> None:
    calm = make_world(spec, judge)
    turns = await drive(calm, KEY)
    want = side_effects(calm, KEY)

    for turn in range(2, turns + 1):
        world = make_world(spec, judge)
        await drive(world, KEY, stale_turn=turn)
        got = side_effects(world, KEY)
        got["ran"], ran = sorted(got["ran"]), sorted(want["ran"])
        assert got == {**want, "ran": ran}, f"stale at turn {turn}"

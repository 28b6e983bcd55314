"""What packages share: a class's episodes, in turn, and a credential's gate, which one may try.

The world's operator takes no look that nobody asked for at a package that waits in line, so each of
these would never come to rest if a wake-up were missing.
"""

from collections import Counter
from typing import Any

import pytest

from afresh.contract.words import Outcome
from afresh.kube.resources import AGENT_CLASSES, JOBS, PODS, WORK_PACKAGES
from tests.kube.journeys import CLAUDE, by_subtask, entries
from tests.kube.world import KEY, World, check_rest, make_world
from tests.make import make_class, seconds

NOTHING = Outcome.NO_CHANGES
AB = {"subtasks": entries("AB")}


def names(world: World) -> list[str]:
    return [raw["metadata"]["name"] for raw in world.api.of_kind(WORK_PACKAGES)]


def all_succeeded(world: World) -> bool:
    return all(world.status(name).get("phase") == "Succeeded" for name in names(world))


def reason_of(name: str, *reasons: str) -> Any:
    return lambda world: world.status(name).get("reason") in reasons


def package_of(episode: str) -> str:
    return "-".join(episode.split("-")[:2])


def agents(world: World) -> int:
    return sum(1 for runner in world.node.runners.values() if runner.order.tasks)


@pytest.mark.parametrize("hints", [False, True], ids=["without hints", "with hints"])
@pytest.mark.parametrize("parallelism", [1, 3])
async def test_packages_of_a_busy_class_take_turns_and_nobody_starves(
    hints: bool, parallelism: int
) -> None:
    package = {"subtasks": entries("ABCD"), "parallelism": parallelism}
    world = make_world(
        *[package] * 6,
        judge=by_subtask(),
        kind={"maxConcurrentEpisodes": 2},
        hints=hints,
        lingers=2,
    )
    most = 0
    world.node.lasts = lambda *_: 2

    while not all_succeeded(world):
        assert world.api.clock < seconds(900), "somebody starves"
        if not await world.turn():
            world.api.clock = max(world.api.clock, min(world.operator.due.values()))
        most = max(most, agents(world))

    assert most == 2
    begun: Counter[str] = Counter()
    for episode in world.node.ran:
        begun[package_of(episode)] += 1
        waiting = [begun[package_of(f"{name}-x")] for name in names(world)]
        assert max(waiting) - min(waiting) <= 2, "somebody waits while another goes on and on"


async def test_a_namespace_with_many_packages_leaves_another_every_other_turn() -> None:
    own = {"name": KEY.name, "namespace": "team-b", "uid": "b"}
    crowd = [{"subtasks": entries("A")}] * 12
    world = make_world(
        *crowd,
        {"subtasks": entries("ABCDEF"), "metadata": own},
        judge=by_subtask(),
        kind={"maxConcurrentEpisodes": 1},
    )
    world.node.lasts = lambda *_: 2

    await world.drive()

    jobs = [raw for raw in world.api.of_kind(JOBS) if "afresh.dev/batch" in notes_of(raw)]
    jobs.sort(key=lambda raw: raw["metadata"]["creationTimestamp"])
    packages = [raw["metadata"]["namespace"] for raw in jobs]
    assert len(packages) == 12 + 6
    assert packages[:12].count("team-b") == 6


def notes_of(raw: dict[str, Any]) -> dict[str, str]:
    notes: dict[str, str] = raw["metadata"].get("annotations", {})
    return notes


async def test_a_package_that_leaves_the_line_lets_the_next_one_start() -> None:
    world = make_world(*[AB] * 3, judge=by_subtask(), kind={"maxConcurrentEpisodes": 1}, lingers=3)
    world.script = (
        (reason_of("package-1", "ClassBusy"), lambda world: world.edit("package-1", suspend=True)),
        (reason_of("package-1", "Suspended"), lambda _: None),
    )

    await world.drive()

    phases = {name: world.status(name)["phase"] for name in names(world)}
    assert phases == {
        KEY.name: "Succeeded", "package-1": "Suspended", "package-2": "Succeeded"
    }  # fmt: skip


async def test_the_first_in_line_that_leaves_when_it_is_its_turn_lets_the_next_one_start() -> None:
    older = {"name": "package-2", "uid": "2", "creationTimestamp": "2030-01-02T02:00:00Z"}
    world = make_world(
        AB, AB, {**AB, "metadata": older}, judge=by_subtask(), kind={"maxConcurrentEpisodes": 1}
    )

    def free(world: World) -> bool:
        ended = all(job.get("status", {}).get("conditions") for job in world.api.of_kind(JOBS))
        return ended and reason_of("package-1", "ClassBusy")(world)

    def leave(world: World) -> None:
        world.edit("package-2", suspend=True)
        world.restart()

    world.node.lasts = lambda *_: 3
    world.script = ((free, leave),)

    await world.drive()

    phases = [world.status(name)["phase"] for name in ("package-1", "package-2", KEY.name)]
    assert phases == ["Succeeded", "Suspended", "Succeeded"]


@pytest.mark.parametrize("after", ["while it runs", "while it waits"])
async def test_a_package_that_is_deleted_gives_up_its_turn(after: str) -> None:
    world = make_world(*[AB] * 3, judge=by_subtask(), kind={"maxConcurrentEpisodes": 1}, lingers=3)
    world.node.lasts = lambda *_: 3
    doomed = KEY.name if after == "while it runs" else "package-1"
    wait = ("EpisodeRunning",) if after == "while it runs" else ("ClassBusy",)
    world.script = ((reason_of(doomed, *wait), lambda world: delete(world, doomed)),)

    await world.drive()

    assert doomed not in names(world)
    assert all_succeeded(world)


def delete(world: World, name: str) -> None:
    """What deleting a package does: the garbage collector takes its Jobs as well."""
    for kind in (WORK_PACKAGES, JOBS):
        for raw in world.api.of_kind(kind):
            labels = raw["metadata"].get("labels", {})
            if name in (raw["metadata"]["name"], labels.get("afresh.dev/package")):
                metadata = raw["metadata"]
                world.api.remove(kind, KEY.namespace, metadata["name"], uid=metadata["uid"])


async def test_one_probe_at_a_time_knocks_while_the_provider_refuses_all() -> None:
    world = make_world(
        *[AB] * 8, judge=by_subtask(), kind=CLAUDE, refuses=lambda clock: clock < seconds(100)
    )
    world.script = ((lambda world: world.api.clock > seconds(20), World.restart),)

    await world.drive()

    assert all_succeeded(world)
    # All eight knock before the first answer is known; then one does, at most, for each step of
    # 2, 4, 8, ... 64 seconds.
    first = Counter(package_of(name) for name in world.node.knocks[:8])
    assert set(first.values()) == {1}
    assert len(world.node.knocks) <= 8 + 6
    assert len(set(world.node.ran)) == len(world.node.ran)
    await check_rest(world)


async def test_packages_of_two_classes_with_one_secret_share_its_gate() -> None:
    world = make_world(
        AB, {**AB, "agentClassName": "other"}, judge=by_subtask(), kind=CLAUDE,
        refuses=lambda clock: clock < seconds(30),
    )  # fmt: skip
    other = make_class(**CLAUDE).to_manifest()
    other["metadata"] = {"name": "other"}
    world.api.put_new(AGENT_CLASSES, other)
    world.restart()

    await world.drive()

    assert all_succeeded(world)
    assert len(world.node.knocks) <= 2 + 4
    gates = [raw.get("status", {}).get("gates", []) for raw in world.api.of_kind(AGENT_CLASSES)]
    assert gates == [[], []]


async def test_another_package_probes_when_the_first_one_in_line_leaves() -> None:
    world = make_world(
        *[AB] * 3,
        judge=by_subtask(),
        kind=CLAUDE,
        lingers=3,
        refuses=lambda clock: clock < seconds(10),
    )
    world.script = (
        (reason_of("package-1", "GateClosed"), lambda world: world.edit("package-1", suspend=True)),
    )

    await world.drive()

    phases = [world.status(name)["phase"] for name in ("package-1", "package-2", KEY.name)]
    assert phases == ["Suspended", "Succeeded", "Succeeded"]


async def test_another_package_probes_when_the_probe_is_lost() -> None:
    slow = {"lingers": 3, "lasts": lambda *_: 4}
    refuses = {"refuses": lambda clock: clock < seconds(6)}
    world = make_world(*[AB] * 3, judge=by_subtask(), kind=CLAUDE, **slow, **refuses)

    def probe(world: World) -> bool:
        return any(
            "afresh.dev/gate" in pod["metadata"]["annotations"]
            and pod["metadata"]["uid"] in world.node.runners
            for pod in world.api.of_kind(PODS)
        )

    def lose(world: World) -> None:
        for pod in world.api.of_kind(PODS):
            if "afresh.dev/gate" in pod["metadata"]["annotations"]:
                world.api.ask_to_end(pod)

    world.script = ((probe, lose), (probe, lose))

    await world.drive()

    assert all_succeeded(world)


async def test_a_package_whose_probes_say_nothing_does_not_keep_others_from_probing() -> None:
    hostile = "package-1"
    world = make_world(
        AB,
        {"subtasks": entries("ABCDE", title="Ask nothing.")},
        AB,
        judge=lambda task, _: NOTHING if task.title == "Ask nothing." else Outcome.SUCCESS,
        kind=CLAUDE,
        refuses=lambda clock: clock < seconds(20),
        asks=lambda task: task.title != "Ask nothing.",
    )
    world.script = ((reason_of(KEY.name, "Succeeded"), lambda _: None),)

    while world.script:
        assert world.api.clock < seconds(900), "the gate is held"
        if not await world.turn():
            world.api.clock = max(world.api.clock, min(world.operator.due.values()))

    silent = [name for name in world.node.ran if package_of(name) == hostile]
    left = [item for item in world.status(hostile)["subtasks"] if item["marker"] == "[ ]"]
    assert left, "the other ones had to wait until its subtasks were used up"
    assert silent, "it has probed too"

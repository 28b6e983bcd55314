"""What subtasks that change the same files cost, counted in episodes: each of them is paid."""

from collections.abc import Callable
from typing import Any

import pytest

from afresh.contract.order import Task
from tests.kube.journeys import by_subtask
from tests.kube.world import World, check_rest, make_world
from tests.make import make_entry

IDS = [f"T{number:03}" for number in range(1, 21)]
ONE_FILE = ("CHANGELOG.md",)


def own_file(task: Task) -> tuple[str, ...]:
    return (f"src/{task.id}.py",)


def one_file(_: Task) -> tuple[str, ...]:
    return ONE_FILE


def all_alike(*_: Any) -> int:
    return 2


def by_number(task: Task, _: int) -> int:
    return 1 + int(task.id[1:]) * 7 % 5


async def run(
    files: Callable[[str], list[str] | None],
    changes: Callable[[Task], tuple[str, ...]],
    lasts: Callable[[Task, int], int] = all_alike,
    script: Any = (),
    **spec: Any,
) -> World:
    """Do 20 subtasks, four at a time."""
    entries = [make_entry(id, **({"files": files(id)} if files(id) else {})) for id in IDS]
    package = {"subtasks": entries, "parallelism": 4, "maxEpisodes": 60} | spec
    world = make_world(package, judge=by_subtask(), script=script, lasts=lasts, changes=changes)
    await world.drive()
    assert world.status()["phase"] == "Succeeded"
    return world


@pytest.mark.parametrize("lasts", [all_alike, by_number])
async def test_twenty_subtasks_that_append_to_one_file_take_at_most_24_episodes(
    lasts: Callable[[Task, int], int],
) -> None:
    world = await run(lambda _: None, one_file, lasts)

    assert len(world.node.ran) <= 24
    assert world.status()["conflicts"] == list(ONE_FILE)
    await check_rest(world)


@pytest.mark.parametrize("lasts", [all_alike, by_number])
@pytest.mark.parametrize("has_files", [True, False], ids=["with files", "without files"])
async def test_twenty_subtasks_with_files_of_their_own_take_20_episodes_four_at_a_time(
    lasts: Callable[[Task, int], int], has_files: bool
) -> None:
    world = await run(lambda name: [f"src/{name}.py"] if has_files else None, own_file, lasts)

    assert len(world.node.ran) == 20
    alone = await run(lambda _: None, own_file, lasts, parallelism=1)
    assert world.api.clock * 2 < alone.api.clock, "they ran side by side"


async def test_subtasks_whose_files_overlap_never_run_side_by_side() -> None:
    world = await run(lambda name: ["docs/**", f"src/{name}.py"], one_file)

    assert len(world.node.ran) == 20


async def test_only_those_that_may_change_the_conflicting_paths_wait_for_each_other() -> None:
    def files(name: str) -> list[str] | None:
        return None if name <= "T004" else [f"src/{name}.py"]

    def changes(task: Task) -> tuple[str, ...]:
        return ONE_FILE if task.id <= "T004" else own_file(task)

    world = await run(files, changes)

    assert len(world.node.ran) == 23


async def test_an_edit_of_the_package_forgets_its_conflicts() -> None:
    forgotten: list[bool] = []
    has_conflict = (
        lambda world: bool(world.status().get("conflicts")),
        lambda world: world.edit(goal="Another."),
    )
    forgot = (
        lambda world: not world.status().get("conflicts"),
        lambda _: forgotten.append(True),
    )

    await run(lambda _: None, one_file, script=(has_conflict, forgot))

    assert forgotten

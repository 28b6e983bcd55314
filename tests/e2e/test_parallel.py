"""Several agents of one package at a time, on one branch."""

import pytest

from tests.e2e.cluster import wait
from tests.e2e.team import Team, plan_of

pytestmark = [pytest.mark.cluster, pytest.mark.story]

FILES = ("one.txt", "two.txt", "shared.txt", "shared.txt")


def test_subtasks_side_by_side_are_all_on_the_branch_and_those_that_conflict_are_done_again(
    team: Team,
) -> None:
    bell = team.bell()
    tasks = [bell.prompt(f"echo T00{n} >{name}") for n, name in enumerate(FILES, start=1)]
    team.apply(team.package("p", *tasks, parallelism=4))

    wait("four agents run", lambda: _running(team) == 4, seconds=180)
    bell.ring()
    status = team.wait_for("Succeeded")

    assert [item["marker"] for item in status["subtasks"]] == ["[x]"] * 4
    assert [item["consecutiveFailures"] for item in status["subtasks"]] == [0] * 4
    outcomes = [item["outcome"] for name in ("T003", "T004") for item in team.attempts(name)]
    assert sorted(outcomes) == ["Conflict", "Success", "Success"]
    assert [item["attempts"] for item in status["subtasks"]][:2] == [1, 1]
    assert team.branch().read("one.txt") == "T001\n"
    assert team.branch().read("two.txt") == "T002\n"
    assert team.branch().read("shared.txt") in ("T003\n", "T004\n")
    assert len(team.branch().commits()) == 4
    assert {item["commit"] for item in status["subtasks"]} == set(team.branch().commits())
    assert team.branch().plan() == plan_of(status)


def _running(team: Team) -> int:
    return sum(1 for pod in team.pods() if pod["status"]["phase"] == "Running")

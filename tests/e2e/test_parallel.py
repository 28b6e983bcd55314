"""Several agents of one package at a time, on one branch."""

import pytest

from tests.e2e.cluster import wait
from tests.e2e.team import Team, plan_of

pytestmark = [pytest.mark.cluster, pytest.mark.story(long=True)]

FILES = ("one.txt", "two.txt", "shared.txt", "shared.txt")
TWENTY = [f"T{number:03}" for number in range(1, 21)]


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


def test_twenty_subtasks_that_append_to_one_file_take_at_most_24_episodes(team: Team) -> None:
    tasks = [f"Add a line.\ndo: sleep 2; echo {id} >>CHANGELOG.md" for id in TWENTY]

    episodes = _episodes_of_twenty(team, *tasks)

    assert episodes <= 24
    assert sorted(team.branch().read("CHANGELOG.md").split()) == TWENTY


def test_twenty_subtasks_with_files_of_their_own_take_20_episodes(team: Team) -> None:
    tasks = [f"Add a file.\ndo: sleep 2; echo {id} >{id}.txt" for id in TWENTY]

    assert _episodes_of_twenty(team, *tasks) == 20
    assert [team.branch().read(f"{id}.txt") for id in TWENTY] == [f"{id}\n" for id in TWENTY]


def _episodes_of_twenty(team: Team, *tasks: str) -> int:
    """Do the tasks four at a time; return how many episodes that took."""
    team.apply(team.package("p", *tasks, parallelism=4))
    status = team.wait_for("Succeeded", "NeedsReview", "Stalled", "Failed", seconds=900)
    assert (status["phase"], status["progress"]) == ("Succeeded", "20/20")
    assert len(team.branch().commits()) == len(TWENTY)
    assert team.branch().plan() == plan_of(status)
    attempts = sum(item["attempts"] for item in status["subtasks"])
    assert status["usage"]["episodes"] == attempts
    return attempts


def _running(team: Team) -> int:
    return sum(1 for pod in team.pods() if pod["status"]["phase"] == "Running")

"""Limits and halts: of a class, of a package, and by a person's word."""

from itertools import accumulate
from typing import Any

import pytest

from tests.e2e.api import Manifest
from tests.e2e.cluster import wait
from tests.e2e.team import STAMP, Team, message_of, record_of

pytestmark = [pytest.mark.cluster, pytest.mark.story]

PACKAGES = [f"p{number}" for number in range(6)]


def test_a_class_runs_no_more_episodes_than_it_may_and_every_package_has_its_turn(
    team: Team,
) -> None:
    team.agent(maxConcurrentEpisodes=2)
    bell = team.bell()
    for name in PACKAGES:
        held = bell.prompt(then="stamp").replace("await", "stamp; await")
        team.apply(team.package(name, held, "Stamp.\ndo: stamp; sleep 1; stamp"))
    waiting = wait("four wait", lambda: _waiting(team, 4), seconds=180)
    bell.ring()
    statuses = [team.wait_for("Succeeded", package=name, seconds=240) for name in PACKAGES]

    assert len(waiting) == len(PACKAGES) - 2
    assert _most_at_once(team) <= 2
    assert {status["usage"]["episodes"] for status in statuses} == {2}
    assert "maxConcurrentEpisodes" in message_of(waiting[0])
    assert max(_begun(team, "T001")) <= min(_begun(team, "T002"))


def test_a_package_at_its_episode_limit_fails_and_goes_on_once_it_is_raised(team: Team) -> None:
    failing = {"prompt": STAMP, "verify": {"command": ["false"]}}
    team.apply(team.package("p", failing, STAMP, maxEpisodes=2))

    failed = team.wait_for("Failed")
    team.edit("p", maxEpisodes=10)
    status = team.wait_for("NeedsReview")

    assert failed["reason"] == "EpisodeLimit"
    assert "spec.maxEpisodes" in message_of(failed)
    assert failed["usage"]["episodes"] == 2
    assert [item["marker"] for item in status["subtasks"]] == ["[S]", "[x]"]
    assert status["usage"]["episodes"] == 4


def test_a_suspended_package_lets_its_episode_end_and_starts_nothing_until_it_is_resumed(
    team: Team,
) -> None:
    bell = team.bell()
    team.apply(team.package("p", bell.prompt(), STAMP))
    team.running_pod()

    team.afresh("suspend", "p")
    bell.ring()
    suspended = team.wait_for("Suspended")
    team.afresh("resume", "p")
    status = team.wait_for("Succeeded")

    assert [item["marker"] for item in suspended["subtasks"]] == ["[x]", "[ ]"]
    assert status["usage"]["episodes"] == 2
    assert [item["attempts"] for item in status["subtasks"]] == [1, 1]


def test_a_cancelled_episode_is_stopped_and_not_counted_and_a_fresh_one_follows(
    team: Team,
) -> None:
    bell = team.bell()
    team.apply(team.package("p", bell.prompt()))
    pod = team.running_pod()["metadata"]["name"]

    team.afresh("cancel", "p")
    wait("the pod goes", lambda: pod not in _names(team.pods()), seconds=180)
    bell.ring()
    status = team.wait_for("Succeeded")

    assert [item["outcome"] for item in team.attempts("T001")] == ["Cancelled", "Success"]
    assert status["lastHandledCancel"]
    assert record_of(status, "T001")["consecutiveFailures"] == 0
    assert ("Warning", "Cancelled", "p-t001") in team.events()


def test_a_budget_stops_the_agent_in_flight_and_raising_it_is_enough(team: Team) -> None:
    team.secret("model-key", **{"api-key": team.model_key})
    team.claude()
    work = "demo-model: shell date >> stamps.txt\n" * 6
    team.apply(team.package("p", f"Stamp often.\n{work}", budget={"maxTokens": 45_000}))

    failed = team.wait_for("Failed")
    team.edit("p", budget={"maxTokens": 10_000_000})
    status = team.wait_for("Succeeded")

    assert failed["reason"] == "BudgetExceeded"
    assert "spec.budget" in message_of(failed)
    first, second = team.attempts("T001")
    assert (first["outcome"], second["outcome"]) == ("BudgetExceeded", "Success")
    # As many answers as there was room for; no further one is asked for.
    assert 1 <= first["turns"] < second["turns"] == 7
    assert record_of(status, "T001")["consecutiveFailures"] == 0


def _waiting(team: Team, number: int) -> list[dict[str, Any]] | None:
    statuses = [team.status(name) for name in PACKAGES]
    waiting = [status for status in statuses if status.get("reason") == "ClassBusy"]
    return waiting if len(waiting) == number else None


def _most_at_once(team: Team) -> int:
    """How many agents were at work at a time: each stamps its begin and its end."""
    changes = []
    for name in PACKAGES:
        stamps = sorted(float(line) for line in team.branch(name).read("stamps.txt").split())
        changes += [(time, 1 - 2 * (number % 2)) for number, time in enumerate(stamps)]
    running = list(accumulate(change for _, change in sorted(changes)))
    assert len(running) == 4 * len(PACKAGES)
    return max(running)


def _episodes(team: Team) -> list[Manifest]:
    jobs = team.cluster.api.items("jobs", team.namespace)
    return [job for job in jobs if _subtask(job)]


def _begun(team: Team, subtask: str) -> list[str]:
    jobs = [job for job in _episodes(team) if _subtask(job) == subtask]
    return [job["metadata"]["creationTimestamp"] for job in jobs]


def _subtask(job: Manifest) -> str:
    found: str = job["metadata"]["labels"].get("afresh.dev/subtask", "")
    return found


def _names(objects: list[Manifest]) -> list[str]:
    return [item["metadata"]["name"] for item in objects]

"""Limits and halts: of a class, of a package, and by a person's word."""

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
        team.apply(team.package(name, bell.prompt(), STAMP))
    waiting = wait("four wait", lambda: _waiting(team, 4), seconds=60)
    most = len(_at_work(team))
    bell.ring()

    def all_done() -> bool:
        nonlocal most
        most = max(most, len(_at_work(team)))
        return all(team.status(name).get("phase") == "Succeeded" for name in PACKAGES)

    wait("all have succeeded", all_done, seconds=240, every=0.05)

    assert most == 2
    assert {team.status(name)["usage"]["episodes"] for name in PACKAGES} == {2}
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

    team.edit("p", suspend=True)
    bell.ring()
    suspended = team.wait_for("Suspended")
    team.edit("p", suspend=False)
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

    request = "2026-03-01T12:00:00Z"
    annotations = {"afresh.dev/cancel-requested-at": request}
    team.cluster.api.merge(
        "workpackages", "p", team.namespace, {"metadata": {"annotations": annotations}}
    )
    wait("the pod goes", lambda: pod not in _names(team.pods()), seconds=60)
    bell.ring()
    status = team.wait_for("Succeeded")

    assert [item["outcome"] for item in team.attempts("T001")] == ["Cancelled", "Success"]
    assert status["lastHandledCancel"] == request
    assert record_of(status, "T001")["consecutiveFailures"] == 0
    assert ("Warning", "Cancelled", "p-t001") in team.events()


def test_a_budget_stops_the_agent_in_flight_and_raising_it_is_enough(team: Team) -> None:
    team.secret("model-key", **{"api-key": team.model_key})
    team.claude()
    work = "demo-model: shell date >> stamps.txt\n" * 6
    team.apply(team.package("p", f"Stamp often.\n{work}", budget={"maxTokens": 1000}))

    failed = team.wait_for("Failed")
    team.edit("p", budget={"maxTokens": 10_000_000})
    status = team.wait_for("Succeeded")

    assert failed["reason"] == "BudgetExceeded"
    assert "spec.budget" in message_of(failed)
    first, second = team.attempts("T001")
    assert (first["outcome"], second["outcome"]) == ("BudgetExceeded", "Success")
    # The answer under way is paid for; no further one is asked for.
    assert (first["turns"], second["turns"]) == (1, 7)
    assert record_of(status, "T001")["consecutiveFailures"] == 0


def _waiting(team: Team, number: int) -> list[dict[str, Any]] | None:
    statuses = [team.status(name) for name in PACKAGES]
    waiting = [status for status in statuses if status.get("reason") == "ClassBusy"]
    return waiting if len(waiting) == number else None


def _at_work(team: Team) -> list[Manifest]:
    """The pods whose runner has not ended, and the Jobs that have no pod yet, as one list."""
    pods = [pod for name in PACKAGES for pod in team.pods(name) if not _is_over(pod)]
    seen = {pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] for pod in pods}
    young = [
        job
        for job in _episodes(team)
        if "startTime" not in job.get("status", {}) and job["metadata"]["name"] not in seen
    ]
    return pods + young


def _is_over(pod: Manifest) -> bool:
    statuses = pod["status"].get("containerStatuses", [])
    return any(item["name"] == "runner" and "terminated" in item["state"] for item in statuses)


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

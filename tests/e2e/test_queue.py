"""A Job queue as Kueue is one: it decides when a Job may run, and may take that back."""

import pytest

from tests.e2e.cluster import wait
from tests.e2e.team import Team

pytestmark = [pytest.mark.cluster, pytest.mark.story]


def test_a_job_that_its_queue_holds_and_takes_back_is_queued_and_has_not_failed(
    team: Team,
) -> None:
    bell = team.bell()
    team.apply(team.package("p", bell.prompt(), queueName="agents"))

    waiting = team.wait_for("Queued")
    (job,) = team.cluster.api.items("jobs", team.namespace)
    name = job["metadata"]["name"]
    _admit(team, name, suspend=False)
    team.running_pod()
    running = team.wait_for("Running")
    _admit(team, name, suspend=True)
    taken_back = team.wait_for("Queued")
    wait("its pod is gone", lambda: not team.pods(), seconds=180)
    _admit(team, name, suspend=False)
    bell.ring()
    status = team.wait_for("Succeeded")

    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "agents"
    assert job["spec"]["suspend"] is True
    for seen, marker in ((waiting, "[~]"), (running, "[~]"), (taken_back, "[~]")):
        assert (seen["subtasks"][0]["marker"], seen["subtasks"][0]["attempts"]) == (marker, 1)
    assert waiting["reason"] == taken_back["reason"] == "EpisodeQueued"
    assert [item["outcome"] for item in team.attempts("T001")] == ["Success"]
    assert (status["usage"]["episodes"], status["usage"]["transientRetries"]) == (1, 0)


def _admit(team: Team, job: str, *, suspend: bool) -> None:
    team.cluster.api.merge("jobs", job, team.namespace, {"spec": {"suspend": suspend}})

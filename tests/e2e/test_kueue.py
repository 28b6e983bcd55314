"""A team's packages in a real Kueue queue: waiting, going on, making way for what is urgent."""

from collections.abc import Callable, Iterator
from concurrent.futures import wait as wait_for_all
from typing import Any

import pytest

from tests.e2e import kueue
from tests.e2e.api import Manifest
from tests.e2e.cluster import tool, wait
from tests.e2e.stage import Stage
from tests.e2e.team import Team

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(not kueue.is_built(), reason=kueue.NOT_BUILT),
]
PATIENCE = 180


@pytest.fixture(scope="module")
def kueue_runs(stage: Stage, make_team: Callable[[str], Team]) -> None:
    # It takes every suspended Job with a queue's name for its own, those of the stories too.
    wait_for_all(stage.ends.values())
    tool("kueue", make_team("kueue").cluster.name)


@pytest.fixture
def queue(
    kueue_runs: None, make_team: Callable[[str], Team], request: pytest.FixtureRequest
) -> Iterator[Team]:
    team = make_team(request.node.nodeid)
    team.move_in()
    kueue.open_queue(team)
    yield team
    team.stop()


def test_a_package_beyond_the_quota_is_queued_and_runs_when_there_is_room(queue: Team) -> None:
    bell = queue.bell()
    queue.apply(queue.package("first", bell.prompt(), queueName=kueue.QUEUE))
    queue.running_pod(package="first")
    queue.apply(queue.package("second", queueName=kueue.QUEUE))
    queue.apply(queue.package("third", queueName=kueue.QUEUE))

    waiting = queue.wait_for("Queued", package="second", seconds=PATIENCE)
    queue.wait_for("Queued", package="third", seconds=PATIENCE)
    pods_of_the_waiting = [*queue.pods("second"), *queue.pods("third")]
    first = queue.status("first")
    queue.cluster.kubectl("delete", "wp", "third", "-n", queue.namespace)
    wait("third is gone", lambda: not jobs_of(queue, "third"), seconds=PATIENCE)
    bell.ring()
    ended = [queue.wait_for("Succeeded", package=name) for name in ("first", "second")]

    assert (waiting["reason"], waiting["subtasks"][0]["phase"]) == ("EpisodeQueued", "Queued")
    assert first["phase"] == "Running"
    assert pods_of_the_waiting == []
    assert [status["subtasks"][0]["attempts"] for status in ended] == [1, 1]


def test_a_preempted_episode_is_no_failure_and_goes_on_after_the_urgent_one(queue: Team) -> None:
    bell = queue.bell()
    urgent = f"{queue.namespace}-urgent"
    queue.apply(kueue.priority_class(urgent, 1000), urgent_class(queue, urgent))
    queue.apply(queue.package("patient", bell.prompt(), queueName=kueue.QUEUE))
    before = queue.running_pod(package="patient")
    (job,) = jobs_of(queue, "patient")

    queue.apply(queue.package("urgent", agentClassName=urgent, queueName=kueue.QUEUE))
    queue.wait_for("Queued", package="patient", seconds=PATIENCE)
    workload = kueue.workload_of(queue, job)
    queue.wait_for("Succeeded", package="urgent")
    resumed = queue.wait_for("Running", package="patient")
    after = queue.running_pod(package="patient")
    bell.ring()
    status = queue.wait_for("Succeeded", package="patient")

    assert kueue.condition(workload, "Evicted") == ("True", "Preempted")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert resumed["subtasks"][0]["consecutiveFailures"] == 0
    attempts = queue.attempts("T001", "patient")
    assert [(item["number"], item["outcome"]) for item in attempts] == [(1, "Success")], attempts
    assert status["subtasks"][0]["consecutiveFailures"] == 0


def urgent_class(team: Team, name: str) -> Manifest:
    """Return a class like the team's own whose pods are more urgent."""
    own: dict[str, Any] = team.cluster.api.get("agentclasses", team.namespace, "")
    return {
        "apiVersion": own["apiVersion"],
        "kind": own["kind"],
        "metadata": {"name": name},
        "spec": {**own["spec"], "pod": {"priorityClassName": name}},
    }


def jobs_of(team: Team, package: str) -> list[str]:
    jobs = team.cluster.api.items("jobs", team.namespace, f"afresh.dev/package={package}")
    return [job["metadata"]["name"] for job in jobs]

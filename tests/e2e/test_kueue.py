"""A team's packages in a real Kueue queue: waiting, going on, making way for what is urgent."""

from typing import Any

import pytest

from tests.e2e import kueue
from tests.e2e.cluster import Cluster
from tests.e2e.team import Team, agent_class, message_of

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(not kueue.is_built(), reason=kueue.NOT_BUILT),
]
PATIENCE = 60
RELEASE = "/tmp/release"
WAIT_FOR_RELEASE = f"cat >/dev/null; until [ -e {RELEASE} ]; do sleep 0.1; done; date >> stamps.txt"


@pytest.fixture(scope="module")
def kueue_runs(cluster: Cluster) -> None:
    cluster.tool("kueue", cluster.name)


@pytest.fixture
def queue(kueue_runs: None, team: Team) -> Team:
    kueue.open_queue(team)
    team.apply(
        agent_class("stamp"),
        agent_class("held", ["/bin/sh", "-c", WAIT_FOR_RELEASE]),
        kueue.priority_class("urgent", 1000),
        agent_class("urgent", pod={"priorityClassName": "urgent"}),
    )
    return team


def test_a_package_beyond_the_quota_is_queued_and_runs_when_there_is_room(queue: Team) -> None:
    queue.apply(queue.package("first", "held", queueName=kueue.QUEUE))
    agent_of(queue, "first")
    queue.apply(queue.package("second", "stamp", queueName=kueue.QUEUE))
    queue.apply(queue.package("third", "stamp", queueName=kueue.QUEUE))

    waiting = queue.wait_for("second", "Queued", seconds=PATIENCE)
    queue.wait_for("third", "Queued", seconds=PATIENCE)
    pods_of_the_waiting = [*pods_of(queue, "second"), *pods_of(queue, "third")]
    first = queue.status("first")
    queue.cluster.kubectl("delete", "wp", "third", "-n", queue.namespace)
    queue.cluster.wait("third is gone", lambda: not jobs_of(queue, "third"), seconds=PATIENCE)
    release(queue, "first")
    ended = [queue.wait_for(name, "Succeeded", seconds=PATIENCE) for name in ("first", "second")]

    assert (waiting["reason"], waiting["subtasks"][0]["phase"]) == ("EpisodeQueued", "Queued")
    assert "queue" in message_of(waiting)
    assert first["phase"] == "Running"
    assert pods_of_the_waiting == []
    assert [status["subtasks"][0]["attempts"] for status in ended] == [1, 1]
    assert len(queue.branch_log("afresh/second")) == 1


def test_a_preempted_episode_is_no_failure_and_goes_on_after_the_urgent_one(queue: Team) -> None:
    queue.apply(queue.package("patient", "held", queueName=kueue.QUEUE))
    before = agent_of(queue, "patient")
    (job,) = jobs_of(queue, "patient")

    queue.apply(queue.package("urgent", "urgent", queueName=kueue.QUEUE))
    queue.wait_for("patient", "Queued", seconds=PATIENCE)
    workload = kueue.workload_of(queue.cluster, job, queue.namespace)
    queue.wait_for("urgent", "Succeeded", seconds=PATIENCE)
    after = agent_of(queue, "patient", other_than=before)
    resumed = queue.wait_for("patient", "Running", seconds=PATIENCE)
    release(queue, "patient")
    status = queue.wait_for("patient", "Succeeded", seconds=PATIENCE)

    assert kueue.condition(workload, "Evicted") == ("True", "Preempted")
    assert after != before
    assert resumed["subtasks"][0]["consecutiveFailures"] == 0
    assert endings(queue, "patient") == ["1 Success"]
    (record,) = status["subtasks"]
    assert (record["attempts"], record["consecutiveFailures"]) == (1, 0)
    assert len(queue.branch_log("afresh/patient")) == 1


def pods_of(team: Team, package: str) -> list[dict[str, Any]]:
    return [pod for pod in team.cluster.items("pods", team.namespace) if belongs(pod, package)]


def jobs_of(team: Team, package: str) -> list[str]:
    jobs = team.cluster.items("jobs", team.namespace)
    return [job["metadata"]["name"] for job in jobs if belongs(job, package)]


def belongs(item: dict[str, Any], package: str) -> bool:
    return bool(item["metadata"]["labels"].get("afresh.dev/package") == package)


def endings(team: Team, package: str) -> list[str]:
    """Return number, outcome and message of each of the package's episodes."""
    children = [st for st in team.cluster.items("st", team.namespace) if belongs(st, package)]
    return [
        f"{attempt['number']} {attempt['outcome']} {attempt['message']}".rstrip()
        for child in children
        for attempt in child["status"]["attempts"]
    ]


def agent_of(team: Team, package: str, *, other_than: str = "") -> str:
    """Return the pod of a package as soon as its agent's program runs."""

    def running() -> str | None:
        for pod in pods_of(team, package):
            name: str = pod["metadata"]["name"]
            if name != other_than and program_runs(team, name):
                return name
        return None

    found: str = team.cluster.wait(f"{package} has an agent", running, seconds=PATIENCE)
    return found


def program_runs(team: Team, pod: str) -> bool:
    look = "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; done"
    done = team.cluster.run(
        "kubectl", "exec", "-n", team.namespace, pod, "-c", "agent", "--", "/bin/sh", "-c", look
    )
    return RELEASE in done.stdout


def release(team: Team, package: str) -> None:
    """Let the agent of a package, which waits for this, do its work."""
    team.cluster.kubectl(
        "exec", "-n", team.namespace, agent_of(team, package), "-c", "agent", "--",
        "touch", RELEASE,
    )  # fmt: skip

"""What happens to pods, Jobs and the operator: nothing is lost, and nothing is done twice."""

import pytest

from tests.e2e import operator
from tests.e2e.cluster import wait
from tests.e2e.team import GIT_URL_PATH, STAMP, Team, record_of

pytestmark = [pytest.mark.cluster, pytest.mark.story]


def test_an_evicted_pod_is_no_failure_of_its_subtask(team: Team) -> None:
    bell = team.bell()
    team.apply(team.package("p", bell.prompt()))

    team.cluster.api.evict(team.running_pod()["metadata"]["name"], team.namespace)
    wait("the end is recorded", lambda: team.attempts("T001")[0].get("outcome"), seconds=180)
    bell.ring()
    status = team.wait_for("Succeeded")

    assert [item["outcome"] for item in team.attempts("T001")] == ["Infrastructure", "Success"]
    assert "was removed from its node" in team.attempts("T001")[0]["message"]
    assert record_of(status, "T001")["consecutiveFailures"] == 0
    assert (status["usage"]["episodes"], status["usage"]["transientRetries"]) == (1, 1)
    assert len(team.branch().commits()) == 1


DELETED = {
    "a pod is deleted": ("pods", {}),
    "a pod is deleted at once": ("pods", {"gracePeriodSeconds": 0}),
    "a Job is deleted": ("jobs", {"propagationPolicy": "Background"}),
}


@pytest.mark.parametrize(("kind", "options"), DELETED.values(), ids=DELETED)
def test_what_somebody_deletes_by_hand_is_made_again_and_not_counted(
    team: Team, kind: str, options: dict[str, object]
) -> None:
    bell = team.bell()
    team.apply(team.package("p", bell.prompt()))

    pod = team.running_pod()["metadata"]
    name = pod["name"] if kind == "pods" else pod["labels"]["batch.kubernetes.io/job-name"]
    team.cluster.api.delete(kind, name, team.namespace, **options)
    wait("the end is recorded", lambda: team.attempts("T001")[0].get("outcome"), seconds=180)
    bell.ring()
    status = team.wait_for("Succeeded")

    assert [item["outcome"] for item in team.attempts("T001")] == ["Infrastructure", "Success"]
    assert (status["usage"]["episodes"], status["usage"]["transientRetries"]) == (1, 1)
    assert record_of(status, "T001")["consecutiveFailures"] == 0


def test_a_subtask_deleted_by_hand_is_made_again_and_the_record_loses_nothing(team: Team) -> None:
    bell = team.bell()
    team.apply(team.package("p", STAMP, bell.prompt()))
    team.running_pod("T002")

    for name in ("p-t001", "p-t002"):
        team.cluster.api.delete("subtasks", name, team.namespace)
    bell.ring()
    status = team.wait_for("Succeeded")

    children = team.cluster.api.items("subtasks", team.namespace)
    assert sorted(child["metadata"]["name"] for child in children) == ["p-t001", "p-t002"]
    assert status["usage"]["episodes"] == 2
    assert len(team.branch().commits()) == 2


def test_a_git_server_that_stops_for_a_while_is_waited_for(team: Team) -> None:
    server = team.server("git")
    bell = team.bell()
    team.apply(
        team.package("p", bell.prompt(), STAMP, repository={"url": f"{server.url}{GIT_URL_PATH}"})
    )
    team.running_pod()

    server.stop()
    bell.ring()
    waiting = team.wait_for("Pending", reason="GitUnreachable")
    server.start()
    status = team.wait_for("Succeeded")

    assert record_of(waiting, "T001")["consecutiveFailures"] == 0
    assert status["usage"]["episodes"] == 2
    assert status["usage"]["transientRetries"] >= 1


def test_deleting_a_package_stops_its_pods(team: Team) -> None:
    team.apply(team.package("p", "Sleep.\ndo: trap '' TERM; sleep 600"))
    team.running_pod()

    team.cluster.api.delete("workpackages", "p", team.namespace)

    wait("no pod is left", lambda: not team.pods(), seconds=180)
    wait("no Job is left", lambda: not team.cluster.api.items("jobs", team.namespace), seconds=180)
    assert team.cluster.api.items("subtasks", team.namespace) == []


def test_an_operator_killed_in_the_middle_runs_nothing_twice_and_loses_nothing(
    team: Team,
) -> None:
    with operator.undisturbed(team.cluster):
        team.apply(team.package("p", *[STAMP] * 5))
        for wanted in (1, 3):
            team.wait_for_progress(wanted)
            operator.kill(team.cluster)
    status = team.wait_for("Succeeded")

    commits = team.branch().commits()
    assert status["usage"]["episodes"] == 5
    assert {item["attempts"] for item in status["subtasks"]} == {1}
    assert len(commits) == 5
    assert {item.get("commit", "") for item in status["subtasks"]} == set(commits)


def test_when_the_operator_and_everything_it_made_is_deleted_the_package_ends_as_if_nothing_was(
    team: Team,
) -> None:
    bell = team.bell()
    team.apply(team.package("p", STAMP, bell.prompt(), STAMP))
    team.running_pod("T002")

    with operator.away(team.cluster):
        for job in team.cluster.api.items("jobs", team.namespace):
            team.cluster.api.delete(
                "jobs", job["metadata"]["name"], team.namespace, propagationPolicy="Background"
            )
        for kind in ("pods", "subtasks"):
            for item in team.cluster.api.items(kind, team.namespace):
                team.cluster.api.delete(kind, item["metadata"]["name"], team.namespace)
        wait("nothing is left", lambda: not team.pods(), seconds=180)
        bell.ring()
    status = team.wait_for("Succeeded")

    assert [item["marker"] for item in status["subtasks"]] == ["[x]"] * 3
    assert status["usage"]["episodes"] == 3
    assert [item["consecutiveFailures"] for item in status["subtasks"]] == [0] * 3
    assert len(team.branch().commits()) == 3


def test_a_package_deleted_and_applied_again_adopts_what_is_done(team: Team) -> None:
    team.apply(team.package("p", STAMP, STAMP))
    before = team.wait_for("Succeeded")
    team.cluster.api.delete("workpackages", "p", team.namespace)
    wait("it is gone", lambda: not team.cluster.api.items("jobs", team.namespace), seconds=180)

    team.apply(team.package("p", STAMP, STAMP))
    after = team.wait_for("Succeeded")

    commits = [item.get("commit", "") for item in before["subtasks"]]
    assert [item.get("commit", "") for item in after["subtasks"]] == commits
    assert len(team.branch().commits()) == 2
    assert [item["turns"] for item in team.attempts("T001")] == [0]

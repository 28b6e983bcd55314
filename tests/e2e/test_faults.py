"""Wrong settings and faults: the package says what to do, and goes on once it is mended."""

import json
from typing import Any

import pytest

from tests.e2e.cluster import ROOT, Cluster
from tests.e2e.team import Team, agent_class, message_of

pytestmark = pytest.mark.cluster
SAYS_SO = 30
MENDED = 90


def test_a_missing_git_secret_is_named_and_creating_it_is_enough(
    team: Team, git_password: str
) -> None:
    team.apply(agent_class("stamp"))
    team.apply(team.package("p1", "stamp", repository={"secretName": "absent"}))

    stalled = team.wait_for("p1", "Stalled", seconds=SAYS_SO)
    team.secret("absent", username="afresh", password=git_password)
    team.wait_for("p1", "Succeeded", seconds=MENDED)

    assert stalled["reason"] == "Config"
    assert 'Secret "absent"' in message_of(stalled)


def test_a_wrong_git_password_is_told_and_correcting_it_is_enough(
    team: Team, git_password: str
) -> None:
    team.apply(agent_class("stamp"))
    team.secret("wrong", username="afresh", password="wrong")
    team.apply(team.package("p2", "stamp", repository={"secretName": "wrong"}))

    stalled = team.wait_for("p2", "Stalled", seconds=SAYS_SO)
    team.secret("wrong", username="afresh", password=git_password)
    team.wait_for("p2", "Succeeded", seconds=MENDED)

    assert stalled["reason"] == "Auth"
    assert 'Secret "wrong"' in message_of(stalled)
    assert git_password not in message_of(stalled)


REPOSITORIES = [
    pytest.param({"baseRef": "no-such-ref"}, "Stalled", "Config", "no-such-ref", id="base ref"),
    pytest.param({"url": "{git}/nothing.git"}, "Stalled", "Config", "nothing.git", id="repository"),
    pytest.param(
        {"url": "http://10.96.255.254/x.git"}, "Pending", "BackingOff", "10.96.255.254", id="host"
    ),
]


@pytest.mark.parametrize(("repository", "phase", "reason", "names"), REPOSITORIES)
def test_a_repository_that_cannot_be_had_is_named(
    team: Team, repository: dict[str, str], phase: str, reason: str, names: str
) -> None:
    found = {key: value.format(git=team.git) for key, value in repository.items()}
    team.apply(agent_class("stamp"), team.package("p3", "stamp", repository=found))

    status = team.wait_for("p3", phase, seconds=SAYS_SO + 15)

    team.cluster.wait("the reason", lambda: team.status("p3")["reason"] == reason, seconds=SAYS_SO)
    assert names in message_of(team.status("p3")), status


IMAGES = [
    pytest.param("localhost/afresh/Agent:dev", "Stalled", "Config", id="a name that is no name"),
    pytest.param("localhost/absent:dev", "Pending", "BackingOff", id="a registry that is away"),
]


@pytest.mark.parametrize(("image", "phase", "reason"), IMAGES)
def test_an_image_that_cannot_be_had_is_named_and_correcting_it_is_enough(
    team: Team, image: str, phase: str, reason: str
) -> None:
    name = team.namespace
    team.apply(agent_class(name, image=image), team.package("p4", name))

    status = team.wait_for("p4", phase, seconds=SAYS_SO)
    team.apply(agent_class(name))
    team.wait_for("p4", "Succeeded", seconds=MENDED)

    assert status["reason"] == reason
    assert image in message_of(status)


def test_a_refused_model_key_is_told_and_correcting_it_is_enough(
    cluster: Cluster, team: Team
) -> None:
    model = cluster.get("service", "model", "afresh-demo")["spec"]["clusterIP"]
    key = cluster.kubectl(
        "get", "secret", "model-key", "-n", "afresh-demo",
        "-o", 'go-template={{index .data "api-key" | base64decode}}',
    ).strip()  # fmt: skip
    team.secret("model-key", **{"api-key": "wrong"})
    team.apply(
        agent_class(
            "keyed",
            adapter="Claude",
            image="localhost/afresh/agent-claude:dev",
            endpoint=f"http://{model}",
            credentials={"secretName": "model-key"},
        )
    )
    team.apply(team.package("p5", "keyed", subtasks=[first_subtask()]))

    stalled = team.wait_for("p5", "Stalled", seconds=SAYS_SO)
    team.secret("model-key", **{"api-key": key})
    team.wait_for("p5", "Succeeded", seconds=MENDED)

    assert stalled["reason"] == "Auth"
    assert 'Secret "model-key"' in message_of(stalled)


def test_deleting_a_package_stops_its_pods_within_seconds(team: Team) -> None:
    team.apply(agent_class("sleep", ["/bin/sh", "-c", "trap '' TERM; sleep 600"]))
    team.apply(team.package("p6", "sleep"))
    team.cluster.wait("an agent runs", lambda: running_pods(team), seconds=30)

    team.cluster.kubectl("delete", "wp", "p6", "-n", team.namespace)

    team.cluster.wait("no pod is left", lambda: not pods(team), seconds=20)
    assert pods(team) == []


def test_an_operator_killed_in_the_middle_runs_nothing_twice_and_loses_nothing(
    team: Team,
) -> None:
    subtasks = [{"id": f"T{n:03}", "prompt": "Add a stamp."} for n in range(6)]
    team.apply(agent_class("stamp"), team.package("p7", "stamp", subtasks=subtasks))

    for wanted in (1, 3, 5):
        team.cluster.wait("progress", lambda wanted=wanted: done(team) >= wanted, seconds=60)
        team.cluster.kubectl(
            "delete", "pod", "-n", "afresh-system", "--all", "--force", "--grace-period=0"
        )
    status = team.wait_for("p7", "Succeeded", seconds=120)

    assert status["usage"]["episodes"] == 6
    assert {item["attempts"] for item in status["subtasks"]} == {1}
    assert len(team.branch_log("afresh/p7")) == 6
    assert {item["commit"] for item in status["subtasks"]} == set(team.branch_log("afresh/p7"))


def test_a_verify_that_fails_three_times_skips_the_subtask_and_leaves_no_commit(
    team: Team,
) -> None:
    team.apply(agent_class("stamp"))
    team.apply(team.package("p8", "stamp", verify={"command": ["false"]}))

    status = team.wait_for("p8", "NeedsReview", seconds=60)

    (record,) = status["subtasks"]
    assert (record["marker"], record["attempts"]) == ("[S]", 3)
    assert team.branch_log("afresh/p8") == []


def done(team: Team) -> int:
    return int(team.status("p7").get("progress", "0/0").split("/")[0])


def pods(team: Team) -> list[dict[str, Any]]:
    return team.cluster.items("pods", team.namespace)


def running_pods(team: Team) -> list[dict[str, Any]]:
    return [pod for pod in pods(team) if pod["status"]["phase"] == "Running"]


def first_subtask() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "deploy/demo/subtasks.json").read_text())[0]
    return {**found, "verify": {"command": found["verify"]}}

"""Causes that many packages meet, on a real node: few Jobs, one reason, and all go on later."""

import subprocess
import sys
from typing import Any

import pytest

from tests.e2e.api import Manifest
from tests.e2e.cluster import ROOT, wait
from tests.e2e.team import STAMP, Team, message_of

pytestmark = [pytest.mark.cluster, pytest.mark.story(long=True)]

PACKAGES = [f"p{number:02}" for number in range(20)]
MOST_JOBS = 8
MOST_EVENTS = 200
LATE_IMAGE = "localhost/late:dev"
TAG = """
import sys
sys.path.insert(0, sys.argv[1])
from tools.singlenode.containerd_client import ContainerdClient
from tools.singlenode.paths import clusters_home
socket = clusters_home() / sys.argv[2] / "containerd" / "containerd.sock"
ContainerdClient(socket)._run("images", "tag", sys.argv[3], sys.argv[4])
"""


def apply_all(team: Team, **spec: Any) -> None:
    for name in PACKAGES:
        team.apply(team.package(name, STAMP, **spec))


def jobs(team: Team) -> list[Manifest]:
    return team.cluster.api.items("jobs", team.namespace)


def reasons(team: Team) -> set[tuple[str, str]]:
    found = (team.status(name) for name in PACKAGES)
    return {(status.get("phase", ""), status.get("reason", "")) for status in found}


def is_steady(team: Team, *said: tuple[str, str]) -> Any:
    return wait(f"all say {said}", lambda: reasons(team) <= set(said), seconds=300, every=1)


def stays(team: Team, said: tuple[str, str], looks: int) -> None:
    """Look again and again: nobody says anything else, and hardly a Job is made."""
    left = [looks]

    def look() -> bool:
        assert reasons(team) == {said}
        assert len(jobs(team)) <= MOST_JOBS
        left[0] -= 1
        return left[0] <= 0

    wait(f"{looks} looks at {said}", look, seconds=looks * 10, every=2)


def have_image(team: Team) -> None:
    """Give the image to the node, as a registry that is back would."""
    tool = [sys.executable, "-c", TAG, str(ROOT), team.cluster.name]
    known = "localhost/afresh/agent-command:dev"
    subprocess.run([*tool, known, LATE_IMAGE], check=True, timeout=60)


def test_an_image_that_is_missing_costs_eight_jobs_and_everybody_goes_on_when_it_is_there(
    team: Team,
) -> None:
    team.agent(image=LATE_IMAGE)
    apply_all(team)

    is_steady(team, ("Pending", "ImageNotPulled"))
    stays(team, ("Pending", "ImageNotPulled"), looks=30)
    messages = {message_of(team.status(name)) for name in PACKAGES}
    events = [
        event
        for event in team.cluster.api.items("events", team.namespace)
        if event.get("reportingComponent") == "afresh"
    ]
    have_image(team)
    wait("all have begun", lambda: all(begun(team, name) for name in PACKAGES), seconds=420)

    assert len(messages) == 1
    assert messages.pop().startswith(f"Correct the image {LATE_IMAGE}")
    assert len(events) <= MOST_EVENTS


def begun(team: Team, package: str) -> bool:
    return team.status(package).get("progress", "0/4") != "0/4"


QUOTAS = [
    pytest.param({"pods": "0"}, id="pods"),
    pytest.param({"count/jobs.batch": "0"}, id="Jobs"),
]


@pytest.mark.parametrize("hard", QUOTAS)
def test_a_quota_that_leaves_no_room_is_told_and_raising_it_is_enough(
    team: Team, hard: dict[str, str]
) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": hard}}
    team.apply({**quota, "metadata": {"name": "small", "namespace": team.namespace}})
    apply_all(team)

    is_steady(team, ("Stalled", "StartRefused"))
    stays(team, ("Stalled", "StartRefused"), looks=5)
    message = message_of(team.status(PACKAGES[0]))
    team.cluster.api.delete("resourcequotas", "small", team.namespace)

    team.wait_for("Succeeded", package=PACKAGES[0])
    assert message.startswith("Raise the quota of the namespace")


def test_a_namespace_that_admits_no_such_pods_is_told(team: Team) -> None:
    limits = {"type": "Container", "max": {"memory": "64Mi"}}
    metadata = {"name": "small", "namespace": team.namespace}
    kind = {"apiVersion": "v1", "kind": "LimitRange"}
    team.apply({**kind, "metadata": metadata, "spec": {"limits": [limits]}})
    apply_all(team)

    is_steady(team, ("Stalled", "StartRefused"))
    message = message_of(team.status(PACKAGES[0]))
    team.cluster.api.delete("limitranges", "small", team.namespace)

    team.wait_for("Succeeded", package=PACKAGES[0])
    assert message.startswith("Change the LimitRange of the namespace")
    assert len(jobs(team)) <= MOST_JOBS + len(PACKAGES)


def test_a_pod_that_never_fits_is_told_and_lowering_its_requests_is_enough(team: Team) -> None:
    team.agent(resources={"requests": {"cpu": "500"}, "limits": {"cpu": "500"}})
    apply_all(team)

    is_steady(team, ("Stalled", "NeverFits"))
    stays(team, ("Stalled", "NeverFits"), looks=5)
    team.agent()

    assert team.wait_for("Succeeded", package=PACKAGES[0])["phase"] == "Succeeded"


def test_a_git_server_that_is_away_is_asked_by_runners_alone_and_all_go_on_when_it_is_back(
    team: Team,
) -> None:
    server = team.server("git")
    server.stop()
    apply_all(team, repository={"url": server.url + "/ledger.git"})

    is_steady(team, ("Pending", "GitUnreachable"))
    episodes = len([job for job in jobs(team) if job["metadata"]["labels"]["afresh.dev/subtask"]])
    wait("a runner has asked", lambda: len(jobs(team)) > episodes, seconds=120)
    server.start()

    team.wait_for("Succeeded", package=PACKAGES[0], seconds=420)
    assert episodes <= len(PACKAGES)

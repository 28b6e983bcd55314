"""A person looks at a package: while it runs, when it has ended, and when its pods are gone."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e import operator
from tests.e2e.cluster import ROOT, wait
from tests.e2e.team import STAMP, Team

pytestmark = [pytest.mark.cluster, pytest.mark.story]
# A following command lives as long as the package.
SECONDS = 600


def following(team: Team, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command `afresh` for as long as it takes."""
    command, *rest = words
    return team.cluster.run(
        "env", f"PYTHONPATH={ROOT / 'controller'}",
        sys.executable, "-m", "afresh.cli", command, "-n", team.namespace, *rest,
        timeout=SECONDS,
    )  # fmt: skip


def test_a_person_sees_a_package_run_reads_its_logs_and_finds_them_when_its_pods_are_gone(
    team: Team,
) -> None:
    bell = team.bell()
    first = bell.prompt("stamp").replace("do: ", "do: echo the first agent waits; ")
    with ThreadPoolExecutor(3) as pool, operator.undisturbed(team.cluster):
        team.apply(team.package("p", first, f"{STAMP}; echo the second agent is done"))
        pod = team.running_pod("T001")["metadata"]["name"]
        logs = pool.submit(following, team, "logs", "-f", "p")
        changes = pool.submit(following, team, "status", "p", "-w")
        waited = pool.submit(following, team, "wait", "p", "--timeout", f"{SECONDS}s")
        wait("the log has a line", lambda: "the first" in team.afresh("logs", "p"), seconds=180)
        shown = team.try_afresh("logs", "p", "T001")
        status = json.loads(team.afresh("status", "p", "-o", "json"))
        why = json.loads(team.afresh("explain", "p", "-o", "json"))
        bell.ring()
        followed = logs.result(SECONDS)
        said = changes.result(SECONDS).stdout

    assert f"T001, attempt 1: live from the pod {pod}" in shown.stderr
    assert status["subtasks"][0]["marker"] == "[~]"
    assert status["subtasks"][0]["seconds"] >= 0
    assert (why["next"]["rule"], why["missing"]) == ("episode_running", [])
    assert any("1 of 1 ready" in line for line in why["operators"])

    assert (followed.returncode, waited.result().returncode) == (0, 0)
    lines = followed.stdout
    assert 0 <= lines.index("the first agent waits") < lines.index("the second agent is done")
    assert lines.count("the first agent waits") == 1
    assert "--- T002, attempt 1: " in followed.stderr
    assert followed.stderr.endswith("--- p is Succeeded: Every subtask is done.\n")
    assert f"{team.namespace}/p T001: Running -> [x] Done (Verified), attempt 1" in said
    assert f"{team.namespace}/p: Succeeded, 2/2 done: Every subtask is done.\n" in said

    _remove_pods(team)
    kept = team.try_afresh("logs", "p", "T001")
    assert "its pod is gone; these are the last lines, kept in the status" in kept.stderr
    assert "the first agent waits\n" in kept.stdout


def _remove_pods(team: Team) -> None:
    """Delete the Jobs with their pods, as their time to live does a day later."""
    api = team.cluster.api
    for job in api.items("jobs", team.namespace):
        api.delete("jobs", job["metadata"]["name"], team.namespace, propagationPolicy="Background")
    wait("the pods are gone", lambda: not team.pods(), seconds=180)

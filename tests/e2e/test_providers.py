"""A model provider that says no for a while: one credential, one gate, for every package."""

import pytest

from tests.e2e import operator
from tests.e2e.api import Manifest
from tests.e2e.cluster import wait
from tests.e2e.servers import Server
from tests.e2e.team import Team

pytestmark = [pytest.mark.cluster, pytest.mark.story]

PACKAGES = [f"p{number}" for number in range(8)]
LIMIT = "/tmp/limited"
WAITING = ("GateClosed", "BackingOff")
STEPS = 3


def test_when_a_provider_limits_a_key_one_request_after_another_tries_and_all_packages_go_on(
    team: Team,
) -> None:
    team.secret("model-key", **{"api-key": team.model_key})
    model = team.server("model", "--limit-file", LIMIT)
    model.run("touch", LIMIT)
    team.claude(endpoint=model.url)
    for name in PACKAGES:
        team.apply(team.package(name, "Stamp.\ndemo-model: shell date >> stamps.txt"))

    wait("everybody waits", lambda: _gate(team) and _all_wait(team), seconds=180)
    tried, first_step = len(_refused(model)), _gate(team)["step"]
    operator.kill(team.cluster)
    gate = wait("it has been tried again", lambda: _tried(team, first_step), seconds=180)
    tried = len(_refused(model)) - tried
    # One more may be under way, whose end the gate does not know yet.
    assert 1 <= tried <= gate["step"] - first_step + 1

    model.run("rm", LIMIT)
    statuses = [team.wait_for("Succeeded", package=name, seconds=240) for name in PACKAGES]

    assert gate["reason"] == "RateLimited"
    assert (gate["namespace"], gate["secretName"]) == (team.namespace, "model-key")
    records = [status["subtasks"][0] for status in statuses]
    assert [record["consecutiveFailures"] for record in records] == [0] * len(PACKAGES)
    assert [status["usage"]["episodes"] for status in statuses] == [1] * len(PACKAGES)
    wait("the gate is open", lambda: not _gate(team), seconds=60)


def _gate(team: Team) -> Manifest:
    found = team.cluster.api.get("agentclasses", team.namespace)
    gates: list[Manifest] = found.get("status", {}).get("gates", [])
    return gates[0] if gates else {}


def _tried(team: Team, first_step: int) -> Manifest | None:
    gate = _gate(team)
    return gate if gate and gate["step"] >= first_step + STEPS else None


def _all_wait(team: Team) -> bool:
    at_work = [pod for name in PACKAGES for pod in team.pods(name) if _runs(pod)]
    reasons = [team.status(name).get("reason") for name in PACKAGES]
    return not at_work and all(reason in WAITING for reason in reasons)


def _runs(pod: Manifest) -> bool:
    return pod["status"]["phase"] in ("Pending", "Running")


def _refused(model: Server) -> list[str]:
    return [line for line in model.log() if "refuse with 429" in line]

"""A model provider that says no for a while: one credential, one gate, for every package."""

import pytest

from tests.e2e import operator
from tests.e2e.api import Manifest
from tests.e2e.cluster import wait
from tests.e2e.team import Team

pytestmark = [pytest.mark.cluster, pytest.mark.story(long=True)]

PACKAGES = [f"p{number}" for number in range(8)]
LIMIT = "/tmp/limited"
STEPS = 4
# Claude Code asks up to three times by itself.
REQUESTS_OF_A_PROBE = 3


def test_when_a_provider_limits_a_key_one_agent_after_another_tries_and_all_packages_go_on(
    team: Team,
) -> None:
    team.secret("model-key", **{"api-key": team.model_key})
    model = team.server("model", "--limit-file", LIMIT)
    model.run("touch", LIMIT)
    team.claude(endpoint=model.url)
    with operator.undisturbed(team.cluster):
        for name in PACKAGES:
            team.apply(team.package(name, "Stamp.\ndemo-model: shell date >> stamps.txt"))
        wait("the gate has closed", lambda: _gate(team), seconds=180)
        operator.kill(team.cluster)
    gate = wait("it has been tried again", lambda: _tried(team), seconds=180)
    # Everybody may have begun before it closed; from then on, one agent for each step.
    agents = len(PACKAGES) + gate["step"]
    refused = [line for line in model.log() if "refuse with 429" in line]
    model.run("rm", LIMIT)
    statuses = [team.wait_for("Succeeded", package=name, seconds=240) for name in PACKAGES]

    assert len(refused) <= REQUESTS_OF_A_PROBE * agents
    assert gate["reason"] == "RateLimited"
    assert (gate["namespace"], gate["secretName"]) == (team.namespace, "model-key")
    records = [status["subtasks"][0] for status in statuses]
    assert [record["consecutiveFailures"] for record in records] == [0] * len(PACKAGES)
    assert [status["usage"]["episodes"] for status in statuses] == [1] * len(PACKAGES)
    assert sum(status["usage"]["transientRetries"] for status in statuses) <= agents
    wait("the gate is open", lambda: not _gate(team), seconds=180)


def _gate(team: Team) -> Manifest:
    found = team.cluster.api.get("agentclasses", team.namespace)
    gates: list[Manifest] = found.get("status", {}).get("gates", [])
    return gates[0] if gates else {}


def _tried(team: Team) -> Manifest | None:
    gate = _gate(team)
    return gate if gate and gate["step"] >= STEPS else None

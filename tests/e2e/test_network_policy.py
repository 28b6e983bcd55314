"""The NetworkPolicies of a team's namespace on a real cluster, which this one does not enforce."""

from typing import Any

import pytest

from tests.e2e import operator
from tests.e2e.api import Manifest
from tests.e2e.cluster import wait
from tests.e2e.team import SERVERS, STAMP, Team

pytestmark = [pytest.mark.cluster, pytest.mark.story]

EPISODES = "afresh-episodes"


def test_the_policies_are_there_before_the_first_pod_and_an_edit_is_put_right_while_it_runs(
    team: Team,
) -> None:
    bell = team.bell()
    team.apply(team.package("p", bell.prompt(), STAMP))
    pod = team.running_pod()
    found = {item["metadata"]["name"]: item for item in _policies(team)}

    first, of_class = found.pop(EPISODES), found.pop(f"afresh-class-{team.namespace}")
    team.cluster.api.merge("networkpolicies", EPISODES, team.namespace, {"spec": {"ingress": [{}]}})
    wait("it is put right", lambda: _spec(team, EPISODES) == first["spec"], seconds=180)
    team.cluster.api.delete("networkpolicies", EPISODES, team.namespace)
    wait("it is there again", lambda: _spec(team, EPISODES) == first["spec"], seconds=180)
    bell.ring()
    team.wait_for("Succeeded")
    with operator.undisturbed(team.cluster):
        (its_pod,) = team.cluster.api.items("pods", operator.NAMESPACE)

    assert found == {}
    (reports,) = [rule for rule in first["spec"]["egress"] if rule["ports"][0]["port"] == 8080]
    (peer,) = reports["to"]
    assert set(peer["namespaceSelector"]["matchLabels"].values()) == {operator.NAMESPACE}
    assert peer["podSelector"]["matchLabels"].items() <= its_pod["metadata"]["labels"].items()
    assert first["metadata"]["creationTimestamp"] <= pod["metadata"]["creationTimestamp"]
    assert _selects(first, pod)
    assert _selects(of_class, pod)
    assert of_class["spec"]["egress"] == [{"to": [SERVERS, {"podSelector": {}}]}]
    assert of_class["metadata"]["generation"] == 1


def _policies(team: Team) -> list[Manifest]:
    return team.cluster.api.items("networkpolicies", team.namespace)


def _spec(team: Team, name: str) -> dict[str, Any]:
    found = [item["spec"] for item in _policies(team) if item["metadata"]["name"] == name]
    return found[0] if found else {}


def _selects(policy: Manifest, pod: Manifest) -> bool:
    wanted: dict[str, str] = policy["spec"]["podSelector"]["matchLabels"]
    return wanted.items() <= pod["metadata"]["labels"].items()

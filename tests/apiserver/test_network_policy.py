"""A NetworkPolicy as the API server stores it is what was built, so nothing is written twice."""

import json

import pytest

from afresh.api.agent_class import AgentClass
from afresh.manifests.network_policy import (
    ReportPeer,
    build_class_policy,
    build_namespace_policy,
    is_as_built,
)
from tests.api.manifests import examples
from tests.apiserver.kubectl import Kubectl, Manifest
from tests.make import make_class

pytestmark = pytest.mark.apiserver


def test_a_stored_policy_of_a_namespace_is_as_built(kubectl: Kubectl, namespace: str) -> None:
    built = build_namespace_policy(namespace, ReportPeer(namespace="afresh-system", port=8080))

    assert is_as_built(stored(kubectl, built), built)


@pytest.mark.parametrize(
    "agent_class",
    [
        pytest.param(AgentClass.model_validate(examples("agent_class")[0]), id="every field"),
        pytest.param(make_class(egress=[{"to": [{"podSelector": {}}]}]), id="all pods, any port"),
        pytest.param(make_class(egress=[{"ports": [{"port": 80}]}]), id="anybody, one port"),
        pytest.param(make_class(egress=[{"ports": [{"protocol": "UDP"}]}]), id="any port"),
        pytest.param(
            make_class(egress=[{"to": [{"namespaceSelector": {"matchLabels": {}}}], "ports": []}]),
            id="empty fields",
        ),
        pytest.param(make_class(), id="nothing more"),
    ],
)
def test_a_stored_policy_of_a_class_is_as_built(
    kubectl: Kubectl, namespace: str, agent_class: AgentClass
) -> None:
    built = build_class_policy(namespace, agent_class)

    assert is_as_built(stored(kubectl, built), built)


def stored(kubectl: Kubectl, policy: Manifest) -> Manifest:
    """What the API server makes of it; it refuses a field that it does not know."""
    made = kubectl("create", "--validate=strict", "-o", "json", manifest=policy)
    found: Manifest = json.loads(made)
    return found

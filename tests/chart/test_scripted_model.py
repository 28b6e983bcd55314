"""The scripted model that the chart installs for those who have no key yet."""

import pytest

from afresh.api.agent_class import AgentClass
from afresh.contract.pod_layout import LABEL_MANAGED_BY, MANAGED_BY
from tests.chart.helm import SYSTEM, Manifest, render

ON = "scriptedModel.enabled=true"
NAME = "afresh-scripted-model"


def parts(*values: str) -> dict[str, Manifest]:
    """What is added to a release, by kind."""
    with_it, without = render("afresh", ON, *values), render("afresh", *values)
    return {item["kind"]: item for item in with_it if item not in without}


def test_there_is_none_unless_it_is_switched_on() -> None:
    assert sorted(parts()) == [
        "AgentClass", "ConfigMap", "Deployment", "NetworkPolicy", "Service",
    ]  # fmt: skip


def test_class_is_one_that_the_api_takes_and_reaches_the_model_alone() -> None:
    found = parts('image.tag="1"')

    made = AgentClass.model_validate(found["AgentClass"])
    assert made.metadata.name == "scripted"
    assert made.spec.image == "localhost/afresh/agent-claude:1"
    assert made.spec.endpoint == f"http://{NAME}.{SYSTEM}"
    (rule,) = found["AgentClass"]["spec"]["egress"]
    (peer,) = rule["to"]
    pod = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert peer["podSelector"]["matchLabels"].items() <= pod.items()
    assert peer["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": SYSTEM}


def test_model_is_reached_by_episodes_alone_and_reaches_nothing() -> None:
    policy = parts()["NetworkPolicy"]["spec"]

    (rule,) = policy["ingress"]
    (peer,) = rule["from"]
    assert peer["podSelector"]["matchLabels"] == {LABEL_MANAGED_BY: MANAGED_BY}
    assert (policy["policyTypes"], policy.get("egress")) == (["Ingress", "Egress"], None)


@pytest.mark.parametrize("users", ["derived", "namespace"])
def test_pod_of_the_model_is_restricted(users: str) -> None:
    pod = parts(f'podUsers="{users}"')["Deployment"]["spec"]["template"]["spec"]

    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert ("runAsUser" in pod["securityContext"]) == (users == "derived")
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_key_that_changes_restarts_the_model() -> None:
    first, second = parts(), parts('scriptedModel.key="other"')

    def notes(found: dict[str, Manifest]) -> Manifest:
        annotations: Manifest = found["Deployment"]["spec"]["template"]["metadata"]["annotations"]
        return annotations

    assert second["ConfigMap"]["data"] == {"api-key": "other"}
    assert notes(first) != notes(second)

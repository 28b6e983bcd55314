"""The classes that a platform team switches on."""

import json

import pytest

from afresh.api.agent_class import AgentClass
from afresh.contract.abilities import ABILITIES
from afresh.contract.words import AdapterName
from tests.chart.helm import kinds, one, render

ADAPTERS = sorted(set(ABILITIES) - {AdapterName.COMMAND})


def test_there_is_none_unless_it_is_switched_on() -> None:
    assert "AgentClass" not in kinds(render())


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_class_of_each_program_is_one_that_the_api_takes(adapter: AdapterName) -> None:
    name = adapter.lower()
    objects = render("afresh", f"agentClasses.{name}.enabled=true", 'image.tag="1"')

    made = AgentClass.model_validate(one(objects, "AgentClass"))
    assert (made.metadata.name, made.spec.adapter) == (name, adapter)
    assert made.spec.image == f"localhost/afresh/agent-{name}:1"
    assert made.spec.credentials is not None


def test_what_the_values_say_of_a_class_is_what_it_says() -> None:
    objects = render(
        "afresh", "agentClasses.claude.enabled=true", 'agentClasses.claude.model="claude-x"',
        'agentClasses.claude.secretName="key"',
        'agentClasses.claude.resources={"limits":{"memory":"1Gi"}}',
        'agentClasses.claude.spec={"maxConcurrentEpisodes":2,"credentials":{"mode":"Environment"}}',
    )  # fmt: skip

    made = AgentClass.model_validate(one(objects, "AgentClass")).spec
    assert (made.model, made.max_concurrent_episodes) == ("claude-x", 2)
    assert made.resources.limits.memory == "1Gi"
    assert made.credentials is not None
    assert (made.credentials.secret_name, made.credentials.mode) == ("key", "Environment")


def test_a_class_without_a_secret_has_no_credentials() -> None:
    objects = render(
        "afresh", "agentClasses.codex.enabled=true", 'agentClasses.codex.secretName=""'
    )

    assert "credentials" not in one(objects, "AgentClass")["spec"]


def test_a_class_of_any_name_has_whatever_its_spec_says() -> None:
    spec = {
        "command": ["agent", "--prompt-file", "/prompt"], "endpoint": "https://models.example.com",
        "credentials": {"mode": "Environment", "secretName": "models", "envName": "KEY"},
        "maxConcurrentEpisodes": 3,
    }  # fmt: skip
    objects = render(
        "afresh", 'agentClasses.ours={"enabled":true,"adapter":"Command","image":"a/b:1",'
        f'"spec":{json.dumps(spec)}}}',
        'agentClasses.fast={"enabled":true,"adapter":"OpenCode","model":"small"}',
        'image.tag="1"',
    )  # fmt: skip

    made = {item["metadata"]["name"]: item for item in objects if item["kind"] == "AgentClass"}
    assert made["ours"]["spec"] == {"adapter": "Command", "image": "a/b:1", **spec}
    assert made["fast"]["spec"] == {
        "adapter": "OpenCode", "image": "localhost/afresh/agent-opencode:1", "model": "small",
    }  # fmt: skip
    for item in made.values():
        AgentClass.model_validate(item)

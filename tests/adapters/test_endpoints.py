"""The class's endpoint over every adapter: what has no gateway is told of it, or it is said."""

import json

import pytest

from afresh.adapters.adapter import ENDPOINT_IGNORED
from afresh.adapters.registry import adapter_of
from afresh.contract.abilities import ABILITIES
from afresh.contract.order import Agent
from afresh.contract.words import AdapterName, CredentialsMode

ENDPOINT = "https://models.example.com"
SPEAKERS = [name for name, abilities in ABILITIES.items() if abilities.model_apis]


@pytest.mark.parametrize("name", SPEAKERS)
def test_program_without_a_gateway_gets_the_endpoint_or_a_warning(name: AdapterName):
    mode = CredentialsMode.ENVIRONMENT
    agent = Agent(adapter=name, endpoint=ENDPOINT, credentials_mode=mode)

    launch = adapter_of(name).launch(agent, "", None)

    given = json.dumps([dict(launch.environment), dict(launch.home_files), launch.argv])
    assert (ENDPOINT in given) is (ENDPOINT_IGNORED not in launch.warnings)


@pytest.mark.parametrize("name", SPEAKERS)
def test_endpoint_behind_the_gateway_is_no_affair_of_the_programs(name: AdapterName):
    mode = CredentialsMode.GATEWAY
    agent = Agent(adapter=name, endpoint=ENDPOINT, credentials_mode=mode)

    launch = adapter_of(name).launch(agent, "", "http://127.0.0.1:8787")

    assert ENDPOINT_IGNORED not in launch.warnings

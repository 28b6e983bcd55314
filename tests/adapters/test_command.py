"""The adapter for any program."""

import pytest

from afresh.adapters.adapter import Context
from afresh.adapters.command import CommandAdapter
from afresh.adapters.registry import adapter_of
from afresh.contract.abilities import ABILITIES
from afresh.contract.order import Agent
from afresh.contract.words import AdapterName, Outcome

AGENT = Agent(adapter=AdapterName.COMMAND, command=("my-agent", "--quiet"))


def test_command_of_the_order_is_called_with_the_brief_as_its_input():
    launch = CommandAdapter().launch(AGENT, "the brief", None)

    assert launch.argv == ("my-agent", "--quiet")
    assert launch.stdin == "the brief"
    assert launch.environment == {}


def test_command_remembers_nothing_and_is_called_alike_every_time():
    adapter = CommandAdapter()
    later = adapter.launch(AGENT, "", None, Context(is_kept=True, session="x"))

    assert not ABILITIES[AdapterName.COMMAND].resumes
    assert later == adapter.launch(AGENT, "", None)
    assert adapter.reader(behind_gateway=False).session is None


@pytest.mark.parametrize(("exit_code", "want"), [(0, None), (1, Outcome.AGENT_ERROR)])
def test_only_the_exit_code_decides(exit_code: int, want: Outcome | None):
    reader = CommandAdapter().reader(behind_gateway=False)

    assert reader.event("out") == "out"
    assert reader.error("Error: all is lost") == "Error: all is lost"
    assert reader.verdict(exit_code).outcome is want


@pytest.mark.parametrize("name", AdapterName)
def test_adapter_is_found_by_its_name(name: AdapterName):
    assert type(adapter_of(name)).__name__ == f"{name}Adapter"

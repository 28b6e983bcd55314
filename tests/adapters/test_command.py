"""The adapter for any program."""

import pytest

from afresh.adapters.command import CommandAdapter
from afresh.contract.order import Agent
from afresh.contract.words import AdapterName, Outcome

AGENT = Agent(adapter=AdapterName.COMMAND, command=("my-agent", "--quiet"))


def test_command_of_the_order_is_called_with_the_brief_as_its_input():
    launch = CommandAdapter().launch(AGENT, "the brief", None)

    assert launch.argv == ("my-agent", "--quiet")
    assert launch.stdin == "the brief"
    assert launch.environment == {}


@pytest.mark.parametrize(("exit_code", "want"), [(0, None), (1, Outcome.AGENT_ERROR)])
def test_only_the_exit_code_decides(exit_code: int, want: Outcome | None):
    reader = CommandAdapter().reader(behind_gateway=False)

    assert reader.event("out") == "out"
    assert reader.error("Error: all is lost") == "Error: all is lost"
    assert reader.verdict(exit_code).outcome is want

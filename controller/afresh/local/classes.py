"""The agent programs of this machine, and AgentClasses for them where a file brings none.

The names of these classes are those of the chart, so that a package can go to a cluster as it is.
"""

import shutil
from collections.abc import Mapping

from afresh.api.agent_class import AgentClass, AgentClassSpec
from afresh.contract.words import AdapterName

ADAPTERS: Mapping[str, AdapterName] = {
    str(adapter).lower(): adapter for adapter in AdapterName if adapter is not AdapterName.COMMAND
}
IMAGE = "localhost/this-machine:local"
# The sandbox is ours, and Claude Code refuses to work for root outside of one.
ENVIRONMENT = {AdapterName.CLAUDE: [{"name": "IS_SANDBOX", "value": "1"}]}


def class_for(name: str) -> AgentClass | None:
    """Return the class of that name; None if no agent program has that name."""
    adapter = ADAPTERS.get(name)
    if adapter is None:
        return None
    return AgentClass.model_validate(
        {
            "metadata": {"name": name},
            "spec": {
                "adapter": adapter,
                "image": IMAGE,
                "credentials": {"secretName": f"{name}-key"},
                "env": ENVIRONMENT.get(adapter, []),
            },
        }
    )


def find_missing_program(spec: AgentClassSpec, path: str) -> str | None:
    """Return the agent's program if it is in none of the folders of `path`; None if it is there.

    A program that is named by a path is one of the sandbox, and cannot be looked for here.
    """
    program = spec.command[0] if spec.command else str(spec.adapter).lower()
    return None if "/" in program or shutil.which(program, path=path) else program

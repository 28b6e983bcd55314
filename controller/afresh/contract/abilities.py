"""The abilities of each agent program that the operator and the runner must both know.

The adapter owns how a program is started and how its output is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from afresh.contract.order import Agent
from afresh.contract.words import AdapterName, CredentialsMode, ModelApiName


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """The abilities of one agent program.

    `model_apis`: the APIs that it supports through the gateway, the default first. `resumes`: a run
    can resume the session of an earlier one. `has_turns`: its turns can be limited without the
    gateway, by the program itself or by reading its output.
    """

    model_apis: tuple[ModelApiName, ...] = ()
    resumes: bool = False
    has_turns: bool = False


ABILITIES: Mapping[AdapterName, Abilities] = {
    AdapterName.AIDER: Abilities(model_apis=(ModelApiName.OPENAI, ModelApiName.ANTHROPIC)),
    AdapterName.CLAUDE: Abilities(
        model_apis=(ModelApiName.ANTHROPIC,), resumes=True, has_turns=True
    ),
    AdapterName.CODEX: Abilities(model_apis=(ModelApiName.OPENAI,), resumes=True, has_turns=True),
    AdapterName.COMMAND: Abilities(),
    AdapterName.GEMINI: Abilities(model_apis=(ModelApiName.GEMINI,), resumes=True, has_turns=True),
    AdapterName.OPENCODE: Abilities(
        model_apis=(ModelApiName.OPENAI, ModelApiName.ANTHROPIC), resumes=True, has_turns=True
    ),
    AdapterName.QWEN: Abilities(
        model_apis=(ModelApiName.OPENAI, ModelApiName.ANTHROPIC), resumes=True, has_turns=True
    ),
}


def gateway_api(agent: Agent) -> ModelApiName | None:
    """Return the API that the agent uses through the gateway; None: it does not use the gateway."""
    apis = ABILITIES[agent.adapter].model_apis
    if agent.credentials_mode is not CredentialsMode.GATEWAY or not apis:
        return None
    return agent.model_api or apis[0]

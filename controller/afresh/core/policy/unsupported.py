"""Finds the fields that are set but not supported by this version or this class.

To ignore such a field could cost money or exceed a limit, so the package stalls instead.
"""

from collections.abc import Iterator

from afresh.api.agent_class import AgentClassSpec
from afresh.api.work_package import EpisodeSpec, WorkPackageSpec
from afresh.contract.abilities import ABILITIES
from afresh.contract.words import ContextMode, CredentialsMode

USUAL_TURNS = EpisodeSpec().max_turns


def unsupported(package: WorkPackageSpec, agent_class: AgentClassSpec) -> Iterator[str]:
    """Yield a sentence, with the remedy, for each field that is set but not supported."""
    adapter = agent_class.adapter
    abilities = ABILITIES[adapter]
    yield from unsupported_of_class(agent_class)
    if package.context.mode is not ContextMode.FRESH_PER_SUBTASK and not abilities.resumes:
        yield (
            f"The adapter {adapter} of the AgentClass cannot keep one context over several "
            "subtasks; set spec.context.mode to FreshPerSubtask."
        )
    if package.budget and not (abilities.model_apis and _has_gateway(agent_class)):
        yield (
            "spec.budget needs an AgentClass whose model is reached through the gateway; remove "
            "it and bound the work by spec.maxEpisodes."
        )
    # The API server fills in the default, so its presence does not mean that a user set it.
    if package.episode.max_turns != USUAL_TURNS and not (
        abilities.has_turns or (abilities.model_apis and _has_gateway(agent_class))
    ):
        yield (
            f"Without the gateway, the turns of the adapter {adapter} are not counted; remove "
            "spec.episode.maxTurns and bound the work by spec.episode.timeoutSeconds."
        )


def unsupported_of_class(agent_class: AgentClassSpec) -> Iterator[str]:
    """Yield the sentences about the class alone."""
    adapter = agent_class.adapter
    apis = ABILITIES[adapter].model_apis
    if agent_class.model_api and agent_class.model_api not in apis:
        known = " or ".join(apis)
        fix = f"set it to {known}" if known else "remove it"
        yield f"The adapter {adapter} does not support spec.modelAPI of the AgentClass; {fix}."
    if _has_gateway(agent_class) and not apis:
        yield (
            f"The adapter {adapter} does not use the gateway; set spec.credentials.mode of the "
            "AgentClass to Environment, or remove spec.credentials."
        )


def _has_gateway(agent_class: AgentClassSpec) -> bool:
    credentials = agent_class.credentials
    return credentials is not None and credentials.mode is CredentialsMode.GATEWAY

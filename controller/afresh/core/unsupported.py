"""Which fields of the API this version accepts but does not yet act on.

Ignoring one in silence could cost money or break a promise, so a package that needs one stalls.
"""

from collections.abc import Iterator

from afresh.api.agent_class import AgentClassSpec
from afresh.api.work_package import WorkPackageSpec
from afresh.contract.words import AdapterName, ContextMode, CredentialsMode

ADAPTERS = frozenset({AdapterName.CLAUDE, AdapterName.COMMAND})


def unsupported(package: WorkPackageSpec, agent_class: AgentClassSpec) -> Iterator[str]:
    """Return a sentence for each field that is set and not acted on; it names the mend."""
    if package.context.mode is not ContextMode.FRESH_PER_SUBTASK:
        yield f"spec.context.mode {package.context.mode} is not supported; use FreshPerSubtask."
    if package.budget:
        yield "spec.budget is not supported; remove it and bound the work by spec.maxEpisodes."
    verifies = [package.verify, *(entry.verify for entry in package.subtasks)]
    if any(verify and verify.image for verify in verifies):
        yield "verify.image is not supported; remove it: verify runs in the agent's image."
    if agent_class.adapter not in ADAPTERS:
        yield f"The adapter {agent_class.adapter} of the AgentClass is not supported; use Claude."
    if agent_class.credentials and agent_class.credentials.mode is CredentialsMode.ENVIRONMENT:
        yield "credentials.mode Environment of the AgentClass is not supported; use Gateway."
    if agent_class.max_concurrent_episodes:
        yield "maxConcurrentEpisodes of the AgentClass is not supported; remove it."
    if agent_class.egress:
        yield "egress of the AgentClass is not supported; remove it and write a NetworkPolicy."

"""Digests of the fields from which an episode's Job is built; they show if an edit changes it."""

from collections.abc import Iterable

from afresh.api.agent_class import AgentClass
from afresh.api.work_package import WorkPackage
from afresh.core.history.shared_causes import images_of
from afresh.core.names import short_hash
from afresh.core.observed import Episode, Member, Observed

# Fields that only limit further starts, or that are read again for each Order.
_NOT_IN_JOB = {"subtasks", "suspend", "parallelism", "max_episodes", "budget"}
_NOT_IN_POD = {"allowed_images", "ceilings", "max_concurrent_episodes", "egress"}


def generations_of(seen: Observed) -> str:
    """Return the generations of the package and its class from which an Order is built."""
    of_class = seen.agent_class.metadata.generation if seen.agent_class else 0
    return f"{seen.package.metadata.generation}/{of_class}"


def inputs_of(seen: Observed, members: Iterable[Member]) -> str:
    """Return a digest of the fields of package and class from which the members' Job is built."""
    wanted = {member.subtask for member in members}
    spec = seen.package.spec
    entries = [item.model_dump_json() for item in spec.subtasks if item.id in wanted]
    agent_class = seen.agent_class
    pod = agent_class.spec.model_dump_json(exclude=_NOT_IN_POD) if agent_class else ""
    return short_hash(spec.model_dump_json(exclude=_NOT_IN_JOB), pod, *entries, length=16)


def image_set_of(package: WorkPackage, agent_class: AgentClass) -> str:
    """Return a digest of the images of the package's episodes."""
    return short_hash(*images_of(package, agent_class), length=12)


def is_out_of_date(seen: Observed, episode: Episode) -> bool:
    """Whether the Job would differ if it were built now."""
    if episode.generations in ("", generations_of(seen)):
        return False
    return not episode.inputs or episode.inputs != inputs_of(seen, episode.members)

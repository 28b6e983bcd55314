"""Finds the limits of a package that exceed those of its class. This module knows no episodes."""

from collections.abc import Iterator

from afresh.api.agent_class import AgentClassSpec
from afresh.api.resources import quantity_value
from afresh.api.work_package import WorkPackageSpec

AMOUNTS = ("cpu", "memory", "ephemeral_storage")


def excesses(
    package: WorkPackageSpec, agent_class: AgentClassSpec
) -> Iterator[tuple[str, str, str]]:
    """Return (field, requested amount, ceiling) for each limit above its ceiling.

    If the class sets no ceiling, its own limit is the ceiling.
    """
    asked = package.resources.limits if package.resources else None
    for name in AMOUNTS if asked else ():
        wanted = getattr(asked, name)
        own = getattr(agent_class.resources.limits, name)
        ceiling = getattr(agent_class.ceilings.limits, name) or own
        if wanted and quantity_value(wanted) > quantity_value(ceiling):
            yield f"spec.resources.limits.{name.replace('_', '-')}", wanted, ceiling
    pids = agent_class.ceilings.pids_limit or agent_class.pids_limit
    if package.pids_limit and package.pids_limit > pids:
        yield "spec.pidsLimit", str(package.pids_limit), str(pids)

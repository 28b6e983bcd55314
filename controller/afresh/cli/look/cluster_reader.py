"""Reads everything that a decision on one package depends on, with the person's own rights.

Owns what is left out where the person may not read it. Changes nothing.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from afresh.api.work_package import WorkPackage
from afresh.cli.installation import OPERATOR
from afresh.cli.look.explanation import Missing
from afresh.contract.pod_layout import LABEL_PACKAGE
from afresh.core.observed import Observed
from afresh.kube.cache import OF_PACKAGES, Cache
from afresh.kube.client import Kube
from afresh.kube.errors import NotFoundError, RefusedError
from afresh.kube.isolation import Isolation
from afresh.kube.models import parse
from afresh.kube.observe import Observer
from afresh.kube.queue import Key
from afresh.kube.resources import (
    AGENT_CLASSES,
    DEPLOYMENTS,
    JOBS,
    PODS,
    SUBTASKS,
    WORK_PACKAGES,
    Manifest,
    Resource,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReading:
    """What was seen. Without `observed`, too little was seen to decide anything.

    `operators` says of each Deployment of an operator whether it is ready; None: not seen.
    """

    package: WorkPackage
    observed: Observed | None
    missing: tuple[Missing, ...]
    operators: tuple[str, ...] | None


@dataclass
class PermittedReader:
    """Lists what may be listed, and remembers what may not."""

    kube: Kube
    missing: list[Missing] = field(default_factory=list)

    async def list_items(
        self, resource: Resource, namespace: str | None, **selectors: str
    ) -> list[Manifest]:
        """Return what is there, or nothing where that may not be seen."""
        return await self.look(resource, namespace, **selectors) or []

    async def look(
        self, resource: Resource, namespace: str | None, *, hides: str = "", **selectors: str
    ) -> list[Manifest] | None:
        """Return what is there; None where that may not be seen, which then hides `hides`."""
        try:
            return await self.kube.list_items(resource, namespace, **selectors)
        except RefusedError:
            where = f"in {namespace}" if namespace else "in the whole cluster"
            known = Missing(what=f"{resource.plural} {where}", hides=hides)
            if known not in self.missing:
                self.missing.append(known)
            return None


async def read_cluster(kube: Kube, key: Key, now: datetime) -> ClusterReading:
    """Return what the person may see of the package. Raises KubeError and UnreadableError."""
    raw = await kube.get(WORK_PACKAGES, *key)
    package = parse(WorkPackage, raw)
    reader, cache = PermittedReader(kube), Cache()
    cache.put(WORK_PACKAGES, raw)
    enough = await _fill(reader, cache, key, package)
    observed = await _observe(reader, cache, key, now) if enough else None
    operators = await reader.look(
        DEPLOYMENTS, None, hides="whether an operator runs", labelSelector=OPERATOR
    )
    return ClusterReading(
        package=package,
        observed=observed,
        missing=tuple(reader.missing),
        operators=None if operators is None else tuple(_operator(item) for item in operators),
    )


async def _fill(reader: PermittedReader, cache: Cache, key: Key, package: WorkPackage) -> bool:
    """Put into the cache what may be seen; return whether it is enough to decide."""
    namespace, mine = key.namespace, f"{LABEL_PACKAGE}={key.name}"
    nothing = "what would be done next"
    limited = await _classes(reader, cache, package)
    subtasks = await reader.look(
        SUBTASKS, namespace, hides=nothing, fieldSelector=f"spec.workPackageName={key.name}"
    )
    pods = await reader.look(PODS, namespace, hides=nothing, labelSelector=mine)
    jobs = await reader.look(JOBS, namespace, hides=nothing, labelSelector=OF_PACKAGES)
    if limited and jobs is not None:
        full = "whether the class runs as many episodes as it may"
        everywhere = await reader.look(JOBS, None, hides=full, labelSelector=OF_PACKAGES)
        jobs = jobs if everywhere is None else everywhere
    packages = await reader.look(WORK_PACKAGES, None, hides="whether another package comes first")
    if packages is None:
        rivals = "whether another package works on the same branch"
        packages = await reader.look(WORK_PACKAGES, namespace, hides=rivals)
    found = {SUBTASKS: subtasks, PODS: pods, JOBS: jobs, WORK_PACKAGES: packages}
    for kind, items in found.items():
        for item in items or ():
            cache.put(kind, item)
    return None not in (limited, subtasks, pods, jobs)


async def _classes(reader: PermittedReader, cache: Cache, package: WorkPackage) -> bool | None:
    """Put the classes into the cache; return whether the package's has a limit, None if unseen."""
    name = package.spec.agent_class_name
    found: list[Manifest] | None
    try:
        found = await reader.kube.list_items(AGENT_CLASSES, None)
    except RefusedError:
        found = await _one_class(reader, name)
    for item in found or ():
        cache.put(AGENT_CLASSES, item)
    if found is None:
        return None
    own = cache.get(AGENT_CLASSES, "", name)
    return own is not None and own["spec"].get("maxConcurrentEpisodes") is not None


async def _one_class(reader: PermittedReader, name: str) -> list[Manifest] | None:
    try:
        return [await reader.kube.get(AGENT_CLASSES, None, name)]
    except NotFoundError:
        return []
    except RefusedError:
        reader.missing.append(Missing(what=f"agentclass {name}", hides="what would be done next"))
        return None


async def _observe(
    reader: PermittedReader, cache: Cache, key: Key, now: datetime
) -> Observed | None:
    lists: Any = reader  # of the API server an observer needs lists alone
    observer = Observer(
        kube=lists, cache=cache, isolation=Isolation(kube=lists, cache=cache), report_url=None
    )
    seen = await observer.observe(key, now=now)
    # Which NetworkPolicies the operator writes depends on its settings, and nothing waits for it.
    return replace(seen, isolated=True) if seen else None


def _operator(deployment: Manifest) -> str:
    meta, spec, status = deployment["metadata"], deployment["spec"], deployment.get("status", {})
    ready, wanted = status.get("readyReplicas", 0), spec.get("replicas", 1)
    return f"{meta['namespace']}/{meta['name']}: {ready} of {wanted} ready"

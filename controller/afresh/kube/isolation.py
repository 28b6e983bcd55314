"""Maintains the NetworkPolicies of the namespaces in which episodes run.

The policies are compared with the cache, so that an episode needs no additional request. They are
never deleted: without episodes they select no pods.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from afresh.api.agent_class import AgentClass
from afresh.contract.pod_layout import LABEL_MANAGED_BY, MANAGED_BY
from afresh.kube.cache import Cache
from afresh.kube.client import Kube
from afresh.kube.errors import ConflictError, RefusedError
from afresh.kube.resources import NETWORK_POLICIES, Manifest
from afresh.manifests.network_policy import (
    ReportPeer,
    build_class_policy,
    build_namespace_policy,
    class_policy_name,
    is_as_built,
)


@dataclass
class Isolation:
    """Compares and writes the policies that the episodes of a class need in a namespace."""

    kube: Kube
    cache: Cache
    reports: ReportPeer | None = None

    def holds(self, namespace: str, agent_class: AgentClass) -> bool:
        """Return whether all required policies exist and are correct."""
        return not any(self._wrong(namespace, agent_class))

    async def establish(self, namespace: str, agent_class: AgentClass) -> None:
        """Write the policies that are missing or were changed. Raises KubeError."""
        for policy in list(self._wrong(namespace, agent_class)):
            known = self.cache.get(NETWORK_POLICIES, namespace, policy["metadata"]["name"])
            made = await (self._replace(known, policy) if known else self._create(policy))
            self.cache.put(NETWORK_POLICIES, made)

    def _wrong(self, namespace: str, agent_class: AgentClass) -> Iterator[Manifest]:
        """Yield the correct manifests of the policies that are missing or differ."""
        for policy in self._wanted(namespace, agent_class):
            known = self.cache.get(NETWORK_POLICIES, namespace, policy["metadata"]["name"])
            if known is None or not is_as_built(known, policy):
                yield policy

    def _wanted(self, namespace: str, agent_class: AgentClass) -> Iterator[Manifest]:
        yield build_namespace_policy(namespace, self.reports)
        name = class_policy_name(agent_class.metadata.name)
        # An existing policy is emptied when the class no longer allows any egress.
        if agent_class.spec.egress or self.cache.get(NETWORK_POLICIES, namespace, name):
            yield build_class_policy(namespace, agent_class)

    async def _create(self, policy: Manifest) -> Manifest:
        """Create a policy, or return the existing one that the watch has not reported yet."""
        metadata = policy["metadata"]
        try:
            return await self.kube.create(NETWORK_POLICIES, metadata["namespace"], policy)
        except ConflictError:
            found = await self.kube.get(NETWORK_POLICIES, metadata["namespace"], metadata["name"])
        if found["metadata"].get("labels", {}).get(LABEL_MANAGED_BY) != MANAGED_BY:
            raise RefusedError(
                f"the NetworkPolicy {metadata['name']} lacks the label {LABEL_MANAGED_BY}="
                f"{MANAGED_BY}; delete it, and the operator makes its own."
            )
        return found if is_as_built(found, policy) else await self._replace(found, policy)

    async def _replace(self, known: Manifest, policy: Manifest) -> Manifest:
        return await self.kube.replace_part(NETWORK_POLICIES, known, "spec", policy["spec"])

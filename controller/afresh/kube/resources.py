"""The kinds of objects that Afresh reads and writes, as the API's paths name them.

Knows no connection, and imports nothing that is slow to import.
"""

from dataclasses import dataclass
from typing import Any

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of object, as the API's paths name it."""

    group: str
    version: str
    plural: str

    def path(self, namespace: str | None = None, name: str | None = None, sub: str = "") -> str:
        """Return the path of the collection, of one object, or of a subresource."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        parts = [root]
        if namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, sub) if part]
        return "/".join(parts)


WORK_PACKAGES = Resource("afresh.dev", "v1alpha1", "workpackages")
SUBTASKS = Resource("afresh.dev", "v1alpha1", "subtasks")
AGENT_CLASSES = Resource("afresh.dev", "v1alpha1", "agentclasses")
JOBS = Resource("batch", "v1", "jobs")
PODS = Resource("", "v1", "pods")
DEPLOYMENTS = Resource("apps", "v1", "deployments")
EVENTS = Resource("", "v1", "events")
NETWORK_POLICIES = Resource("networking.k8s.io", "v1", "networkpolicies")
LEASES = Resource("coordination.k8s.io", "v1", "leases")
SECRETS = Resource("", "v1", "secrets")
DAEMON_SETS = Resource("apps", "v1", "daemonsets")
NAMESPACES = Resource("", "v1", "namespaces")
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
ACCESS_REVIEWS = Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews")
TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews")

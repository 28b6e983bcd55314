"""Kueue's queues as a platform team sets them up, and what Kueue says of a Job."""

from typing import Any

from tests.e2e.api import Manifest
from tests.e2e.team import Team
from tools.singlenode import binaries

QUEUE = "agents"
NOT_BUILT = "Kueue's controller has not been built: run `make kueue`"
# A Workload is admitted only where the queue covers every resource that its pod asks for.
_ROOM_FOR_ONE = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi", "pods": "1"}
_KUEUE = "kueue.x-k8s.io/v1beta2"


def is_built() -> bool:
    """Tell whether the pinned controller lies in the cache."""
    return not binaries.missing(binaries.KUEUE)


def open_queue(team: Team) -> None:
    """Give the team's namespace a queue that lets one episode run at a time."""
    name = team.namespace
    quotas = [{"name": resource, "nominalQuota": room} for resource, room in _ROOM_FOR_ONE.items()]
    team.apply(
        {"apiVersion": _KUEUE, "kind": "ResourceFlavor", "metadata": {"name": name}},
        {
            "apiVersion": _KUEUE,
            "kind": "ClusterQueue",
            "metadata": {"name": name},
            "spec": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
                "preemption": {"withinClusterQueue": "LowerPriority"},
                "resourceGroups": [
                    {
                        "coveredResources": list(_ROOM_FOR_ONE),
                        "flavors": [{"name": name, "resources": quotas}],
                    }
                ],
            },
        },
        {
            "apiVersion": _KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": QUEUE, "namespace": name},
            "spec": {"clusterQueue": name},
        },
    )


def priority_class(name: str, value: int) -> Manifest:
    """Return a PriorityClass; Kueue takes a Workload's priority from its pod's."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def workload_of(team: Team, job: str) -> dict[str, Any] | None:
    """Return Kueue's Workload of a Job."""
    for workload in team.cluster.api.items("workloads", team.namespace):
        if any(owner["name"] == job for owner in workload["metadata"]["ownerReferences"]):
            return workload
    return None


def condition(workload: dict[str, Any] | None, kind: str) -> tuple[str, str]:
    """Return status and reason of one condition; empty if there is none."""
    found = (workload or {}).get("status", {}).get("conditions", [])
    return next(
        ((item["status"], item["reason"]) for item in found if item["type"] == kind), ("", "")
    )

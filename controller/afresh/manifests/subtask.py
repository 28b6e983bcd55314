"""Builds the Subtask object for one entry of a package."""

from typing import Any

from afresh.api.subtask import SubtaskEntry
from afresh.api.work_package import WorkPackage
from afresh.core.names import subtask_name
from afresh.core.planner import child_spec
from afresh.manifests.metadata import labels, owned_by


def build_subtask(package: WorkPackage, entry: SubtaskEntry) -> dict[str, Any]:
    """Return the manifest of the Subtask for `entry`."""
    return {
        "apiVersion": package.api_version,
        "kind": "Subtask",
        "metadata": {
            "name": subtask_name(package.metadata.name, entry.id),
            "namespace": package.metadata.namespace,
            "labels": labels(package.metadata.name, entry.id),
            "ownerReferences": owned_by(package),
        },
        "spec": child_spec(entry, package.metadata.name).to_manifest(),
    }

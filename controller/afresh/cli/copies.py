"""A second package that is asked for the same as a first one, on a branch of its own. Pure."""

from typing import Any

from afresh.cli.requests import Copy

# What people answered to the first package's work is not asked of the second.
ANSWERS = frozenset({"revision", "revisionReason"})

Manifest = dict[str, Any]


def copy_of(manifest: Manifest, request: Copy) -> Manifest:
    """Return the manifest to create from that of a stored package.

    Every field of the spec is taken over, also one that this version does not know, but for the
    branch (the copy has its own) and raised revisions.
    """
    spec = manifest["spec"]
    mode = {"mode": str(request.mode)} if request.mode else {}
    repository = {key: value for key, value in spec["repository"].items() if key != "branch"}
    return {
        "apiVersion": manifest["apiVersion"],
        "kind": manifest["kind"],
        "metadata": {"name": request.name, "namespace": manifest["metadata"]["namespace"]},
        "spec": spec
        | {
            "repository": repository,
            "context": spec.get("context", {}) | mode,
            "subtasks": [_as_first_asked(entry) for entry in spec["subtasks"]],
        },
    }


def _as_first_asked(entry: Manifest) -> Manifest:
    return {key: value for key, value in entry.items() if key not in ANSWERS}

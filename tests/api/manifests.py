"""Manifests for tests, as plain data: the smallest, the largest, and small changes of them."""

import copy
from pathlib import Path
from typing import Any

import yaml

Manifest = dict[str, Any]

EXAMPLES = Path(__file__).parent / "examples"
ABSENT = object()


def minimal_package(name: str = "demo") -> Manifest:
    """The least that a user must write."""
    return {
        "apiVersion": "afresh.dev/v1alpha1",
        "kind": "WorkPackage",
        "metadata": {"name": name},
        "spec": {
            "agentClassName": "claude",
            "repository": {"url": "https://git.example.com/team/api.git"},
            "verify": {"command": ["make", "test"]},
            "subtasks": [{"id": "T001", "prompt": "Add a token model."}],
        },
    }


def minimal_class(name: str = "claude") -> Manifest:
    return {
        "apiVersion": "afresh.dev/v1alpha1",
        "kind": "AgentClass",
        "metadata": {"name": name},
        "spec": {"adapter": "Claude", "image": "example/agent:1"},
    }


def entry(id_: str, **fields: Any) -> Manifest:
    return {"id": id_, "prompt": "Do it."} | fields


def entries(count: int) -> list[Manifest]:
    return [entry(f"T{number:03d}") for number in range(count)]


def largest_package(name: str = "largest") -> Manifest:
    """200 subtasks with 20-character ids, 16 dependencies each, and 160 KiB of prompts.

    The dependencies point to the end of the list, where it takes longest to find them.
    """
    ids = [f"T{number:03d}" + "x" * 16 for number in range(200)]
    size = 160 * 1024 // 200
    return changed(
        minimal_package(name),
        {
            "spec.maxEpisodes": 200,
            "spec.subtasks": [
                entry(
                    id_,
                    title="t" * 100,
                    prompt="p" * size,
                    dependsOn=[other for other in ids[-17:] if other != id_][:16],
                    files=[f"{'f' * 60}/{number}/**" for number in range(4)],
                    guidance=["g" * 120],
                )
                for id_ in ids
            ],
        },
    )


def changed(manifest: Manifest, changes: dict[str, Any]) -> Manifest:
    """Return a copy with the value at each dotted path replaced, or removed if ABSENT."""
    result = copy.deepcopy(manifest)
    for path, value in changes.items():
        *parents, last = path.split(".")
        node = result
        for parent in parents:
            node = node.setdefault(parent, {})
        if value is ABSENT:
            del node[last]
        else:
            node[last] = value
    return result


def examples(name: str) -> list[Manifest]:
    return list(yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text()))

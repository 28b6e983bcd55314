"""A package of subtasks on a real API server, from manifest to end; the test is the node."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from afresh.contract.order import Order
from afresh.contract.words import Outcome
from afresh.kube.client import Kube
from afresh.kube.resources import WORK_PACKAGES
from tests.apiserver.kubectl import Kubectl
from tests.apiserver.node import Node, succeed

PATIENCE = 240


@asynccontextmanager
async def node_of(
    kubeconfig: Path, namespace: str, judge: Callable[[Order], Outcome] = succeed
) -> AsyncIterator[Node]:
    """Play the node of a namespace for as long as the block lasts."""
    kube = await Kube.connect(str(kubeconfig))
    node = Node(kube, namespace, judge)
    task = asyncio.create_task(node.run())
    try:
        yield node
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await kube.close()
        await asyncio.sleep(1)  # connections with TLS end when the server has answered


def apply(kubectl: Kubectl, namespace: str, subtasks: list[dict[str, Any]], **spec: Any) -> None:
    """Apply a class of the namespace's own and the package `p`."""
    for manifest in (
        {
            "apiVersion": "afresh.dev/v1alpha1",
            "kind": "AgentClass",
            "metadata": {"name": f"class-{namespace}"},
            "spec": {"adapter": "Command", "command": ["true"], "image": "example.com/agent:1"},
        },
        {
            "apiVersion": "afresh.dev/v1alpha1",
            "kind": "WorkPackage",
            "metadata": {"name": "p", "namespace": namespace},
            "spec": {
                "agentClassName": f"class-{namespace}",
                "repository": {"url": f"http://git.example.com/{namespace}.git"},
                "verify": {"command": ["true"]},
                "subtasks": subtasks,
                **spec,
            },
        },
    ):
        kubectl("apply", manifest=manifest)


def chain(length: int) -> list[dict[str, Any]]:
    """Return subtasks of which each depends on the one before."""
    return [
        {"id": f"T{n:03}", "prompt": "Do it.", "dependsOn": [f"T{n - 1:03}"] if n else []}
        for n in range(length)
    ]


async def ended(kube: Kube, namespace: str, *phases: str) -> dict[str, Any]:
    """Return the package once it is in one of the phases; Succeeded, if none is named."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        package = await kube.get(WORK_PACKAGES, namespace, "p")
        if package.get("status", {}).get("phase") in (phases or ("Succeeded",)):
            return package
        await asyncio.sleep(0.05)
    raise AssertionError(f"still {json.dumps(package.get('status'), indent=1)}")


async def holds(what: str, condition: Callable[[], Any]) -> None:
    """Return once the condition holds; fails the test if it does not in time."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if await asyncio.to_thread(condition):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"waited {PATIENCE} s in vain until {what}")

"""Plays the Job controller and the kubelet on a bare API server: one pod per Job, with its end.

The operator under test is the real one; only what a node would write is written here.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from afresh.contract import codec, report
from afresh.contract.order import Order
from afresh.contract.report import Report
from afresh.contract.words import Outcome
from afresh.kube.client import Kube
from afresh.kube.errors import ConflictError, NotFoundError
from afresh.kube.resources import JOBS, PODS
from tests.runner import answer_of

Judge = Callable[[Order], Outcome]


def succeed(order: Order) -> Outcome:
    """Let every episode succeed."""
    return Outcome.SUCCESS


@dataclass
class Node:
    """Runs every Job of one namespace for `seconds` and lets `judge` say how it ends."""

    kube: Kube
    namespace: str
    judge: Judge = succeed
    seconds: float = 0.05
    tell: Callable[[Report], Report] = field(default=lambda told: told)
    admit: Callable[[dict[str, Any]], dict[str, Any]] = field(default=lambda pod: pod)
    """What webhooks make of a pod."""
    pause: float = 0.02
    """Seconds between two looks for Jobs."""
    started: list[tuple[str, str]] = field(default_factory=list)
    """Every Job that was run: subtask and name, in the order of their start."""
    may_end: asyncio.Event = field(default_factory=asyncio.Event)
    """Set at first; while it is not, no episode ends."""

    def __post_init__(self) -> None:
        self.may_end.set()

    async def run(self) -> None:
        """Run Jobs until cancelled; what the API server refuses ends it, and is raised."""
        known: set[str] = set()
        async with asyncio.TaskGroup() as tasks:
            while True:
                for job in await self.kube.list_items(JOBS, self.namespace):
                    if job["metadata"]["uid"] not in known and not job["spec"].get("suspend"):
                        known.add(job["metadata"]["uid"])
                        tasks.create_task(self._run_job(job))
                await asyncio.sleep(self.pause)

    async def _run_job(self, job: dict[str, Any]) -> None:
        template = job["spec"]["template"]
        order = codec.loads(Order, template["metadata"]["annotations"]["afresh.dev/order"])
        if order.tasks:
            self.started.append((order.tasks[0].id, order.episode))
        begun = {"startTime": job["metadata"]["creationTimestamp"]}
        with suppress(ConflictError, NotFoundError):  # the operator may have deleted it
            await self.kube.replace_part(JOBS, job, "status", begun)
        pod = await self._create_pod(job, template)
        await asyncio.sleep(self.seconds)
        await self.may_end.wait()
        told = self.tell(answer_of(order, lambda _: self.judge(order), f"{len(self.started):040x}"))
        ended = {"exitCode": 0, "reason": "Completed", "message": report.fit(told)}
        containers = [
            {"name": name, "ready": False, "restartCount": 0, "image": "i", "imageID": "i",
             "state": {"terminated": ended if name == "runner" else {"exitCode": 0}}}
            for name in ("runner", "agent", "verify")
        ]  # fmt: skip
        scheduled = {"type": "PodScheduled", "status": "True",
                     "lastTransitionTime": pod["metadata"]["creationTimestamp"]}  # fmt: skip
        status = {
            "phase": "Running",
            "conditions": [scheduled],
            "containerStatuses": containers,
        }
        pod = await self.kube.get(PODS, self.namespace, pod["metadata"]["name"])
        await self.kube.replace_part(PODS, pod, "status", status)

    async def _create_pod(self, job: dict[str, Any], template: dict[str, Any]) -> dict[str, Any]:
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job["metadata"]["name"],
                 "uid": job["metadata"]["uid"], "controller": True}  # fmt: skip
        name = job["metadata"]["name"] + "-pod"
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": self.namespace,
                         "labels": template["metadata"]["labels"],
                         "annotations": template["metadata"]["annotations"],
                         "ownerReferences": [owner]},
            # Where nothing makes accounts for pods, nothing gives them one either.
            "spec": template["spec"] | {"serviceAccountName": "default"},
        }  # fmt: skip
        with suppress(ConflictError):
            return await self.kube.create(PODS, self.namespace, self.admit(body))
        return await self.kube.get(PODS, self.namespace, name)

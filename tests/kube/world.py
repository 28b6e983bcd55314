"""A small API server in memory, a node that runs what it finds, and an operator that may die.

Behaves as the real server does in what the loop relies on: resource versions, conflicts,
generations, deletion of a Job with its pod. `tests/apiserver` runs the same loop on the real one.
"""

import copy
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from afresh.contract import codec, report
from afresh.contract.order import Order, Task
from afresh.contract.report import Report, Result
from afresh.contract.words import Marker, Outcome
from afresh.core.outcome import TABLE
from afresh.core.plan_file import Plan, digest, parse, render
from afresh.kube.apply import Applier
from afresh.kube.cache import WATCHED, Cache
from afresh.kube.client import EVENTS, JOBS, PODS, SUBTASKS, WORK_PACKAGES, Manifest, Resource
from afresh.kube.errors import ConflictError, NotFoundError
from afresh.kube.loop import Loop
from afresh.kube.observe import Observer
from afresh.kube.queue import Key
from afresh.manifests.metadata import read_batch
from tests.make import NOW

Judge = Callable[[Task, int], Outcome]
MOST_STEPS = 300


class Killed(BaseException):
    """The operator's process died at this instant."""


@dataclass
class ApiServer:
    """Objects by kind and name. Raises Killed before or after the `deadly` write."""

    objects: dict[tuple[Resource, str, str], Manifest] = field(default_factory=dict)
    deadly: tuple[int, str] | None = None
    writes: int = 0
    _versions: Any = field(default_factory=lambda: itertools.count(100))

    async def get(self, kind: Resource, namespace: str | None, name: str) -> Manifest:
        found = self.objects.get((kind, namespace or "", name))
        if found is None:
            raise NotFoundError(name)
        return copy.deepcopy(found)

    async def list_items(self, kind: Resource, namespace: str | None, **_: str) -> list[Manifest]:
        return [
            copy.deepcopy(body)
            for (other, space, _), body in sorted(self.objects.items(), key=lambda i: i[0][2])
            if other == kind and namespace in (None, space)
        ]

    async def create(self, kind: Resource, namespace: str | None, body: Manifest) -> Manifest:
        if kind is EVENTS:
            return body  # nothing rests on them, and they are written beside the loop
        return self._write(lambda: self.put_new(kind, body))

    def put_new(self, kind: Resource, body: Manifest) -> Manifest:
        name = (kind, body["metadata"].get("namespace", ""), body["metadata"]["name"])
        if name in self.objects:
            raise ConflictError(f"{name[2]} exists")
        number = next(self._versions)
        metadata = {
            "uid": f"uid-{number}",
            "generation": 1,
            "creationTimestamp": NOW.isoformat(),
            **body["metadata"],
            "resourceVersion": str(number),
        }
        self.objects[name] = copy.deepcopy({**body, "metadata": metadata})
        return copy.deepcopy(self.objects[name])

    async def replace_part(self, kind: Resource, old: Manifest, part: str, value: Any) -> Manifest:
        return self._write(lambda: self.put_part(kind, old, part, value))

    def put_part(self, kind: Resource, old: Manifest, part: str, value: Any) -> Manifest:
        metadata = old["metadata"]
        known = self.objects.get((kind, metadata.get("namespace", ""), metadata["name"]))
        if known is None:
            raise NotFoundError(metadata["name"])
        if known["metadata"]["resourceVersion"] != metadata["resourceVersion"]:
            raise ConflictError("the object has been modified")
        known[part] = copy.deepcopy(value)
        known["metadata"]["resourceVersion"] = str(next(self._versions))
        known["metadata"]["generation"] += part == "spec"
        return copy.deepcopy(known)

    async def delete(self, kind: Resource, namespace: str, name: str, *, uid: str) -> None:
        def remove() -> None:
            known = self.objects.get((kind, namespace, name))
            if known and known["metadata"]["uid"] == uid:
                del self.objects[kind, namespace, name]
                self.objects.pop((PODS, namespace, name), None)

        self._write(remove)

    def of_kind(self, kind: Resource) -> list[Manifest]:
        return [
            body
            for (other, _, _), body in sorted(self.objects.items(), key=lambda i: i[0][2])
            if other == kind
        ]

    def _write(self, perform: Callable[[], Any]) -> Any:
        self.writes += 1
        if self.deadly == (self.writes, "before"):
            raise Killed
        answer = perform()
        if self.deadly == (self.writes, "after"):
            raise Killed
        return answer


@dataclass
class World:
    """The cluster, and everything that was really run in it."""

    api: ApiServer
    judge: Judge
    ran: list[str] = field(default_factory=list)
    plan: str = ""
    """The plan on the branch."""

    def run_pods(self) -> None:
        """Let the node run every Job that has no pod yet, to its end."""
        for job in self.api.of_kind(JOBS):
            metadata = job["metadata"]
            if (PODS, metadata["namespace"], metadata["name"]) in self.api.objects:
                continue
            template = job["spec"]["template"]["metadata"]
            order = codec.loads(Order, template["annotations"]["afresh.dev/order"])
            if order.tasks:
                self.ran.append(order.episode)
            pod = self.api.put_new(
                PODS,
                {
                    "metadata": {
                        "name": metadata["name"],
                        "namespace": metadata["namespace"],
                        "labels": template["labels"],
                        "annotations": template["annotations"],
                        "ownerReferences": [{"uid": metadata["uid"], "controller": True}],
                    },
                    "spec": {},
                },
            )
            self.api.put_part(PODS, pod, "status", _ended(self._do(order, template)))

    def _do(self, order: Order, template: Manifest) -> Report:
        """Do what a runner does: one subtask after another, until one is not done."""
        members = read_batch(template["annotations"].get("afresh.dev/batch", ""))
        results: list[Result] = []
        lines = {line.id: line for line in order.plan}
        if order.tasks:  # only its own lines of what stands on the branch
            lines |= {line.id: line for line in parse(self.plan).lines if line.id in lines}
        pushes = not order.tasks
        for task, member in zip(order.tasks, members, strict=True):
            outcome = self.judge(task, member.attempt)
            commit = f"{task.id}-commit" if outcome is Outcome.SUCCESS else None
            results.append(Result(id=task.id, outcome=outcome, commit=commit, message="So."))
            marker = _marker(task, outcome)
            if marker is not Marker.PENDING:
                lines[task.id] = replace(lines[task.id], marker=marker)
                pushes = True
            if commit is None:
                break
        if pushes:
            self.plan = render(Plan(goal=order.goal, lines=tuple(lines.values())))
        return Report(
            episode=order.episode,
            stage="reported",
            final=True,
            results=tuple(results),
            plan_digest=digest(self.plan) if pushes else None,
        )


def _marker(task: Task, outcome: Outcome) -> Marker:
    if outcome is Outcome.SUCCESS:
        return Marker.DONE
    if outcome in (Outcome.BLOCKED, Outcome.OUT_OF_SCOPE):
        return Marker.NEEDS_REVIEW
    return task.marker_on_failure if TABLE[outcome].counts else Marker.PENDING


def _ended(told: Report) -> dict[str, Any]:
    runner = {"exitCode": 0, "message": report.fit(told)}
    return {
        "phase": "Succeeded",
        "containerStatuses": [
            {"name": "runner", "state": {"terminated": runner}},
            {"name": "agent", "state": {"terminated": {"exitCode": 0}}},
        ],
    }


class Operator:
    """One life of the operator's process: memory that a crash takes away."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self._cache = Cache()
        kube: Any = api
        self._loop = Loop(
            kube=kube,
            cache=self._cache,
            observer=Observer(kube=kube, cache=self._cache, report_url=None),
            applier=Applier(kube=kube, cache=self._cache, runner_image="example.com/runner:1"),
            wake=lambda _: None,
        )

    def watch(self) -> None:
        """Learn everything that is in the cluster now."""
        for kind in WATCHED:
            listed = [copy.deepcopy(body) for body in self._api.of_kind(kind)]
            self._cache.retain(kind, {body["metadata"]["uid"] for body in listed}, 10**9)
            for body in listed:
                self._cache.put(kind, body)

    async def step(self, key: Key, *, at: timedelta) -> timedelta | None:
        return await self._loop.step(key, now=NOW + at)


async def drive(world: World, key: Key, *, stale_turn: int | None = None) -> int:
    """Let operator and node work until nothing changes any more; return the number of turns."""
    operator = Operator(world.api)
    clock = timedelta(0)
    for turn in itertools.count(1):
        assert turn < MOST_STEPS, "the loop does not come to rest"
        if turn != stale_turn:
            operator.watch()
        before = world.api.writes, len(world.ran)
        try:
            again = await operator.step(key, at=clock)
        except ConflictError:
            again = timedelta(0)
        except Killed:
            world.api.deadly = None
            operator = Operator(world.api)
            again = timedelta(0)
        world.run_pods()
        if (world.api.writes, len(world.ran)) == before:
            if again is None or _ended_package(world, key):
                return turn
            clock += max(again, timedelta(seconds=1))
    raise AssertionError("unreachable")


def _ended_package(world: World, key: Key) -> bool:
    status = world.api.objects[WORK_PACKAGES, *key].get("status", {})
    return status.get("phase") in ("Succeeded", "NeedsReview", "Failed")


def side_effects(world: World, key: Key) -> dict[str, Any]:
    """What must be the same however often the operator died."""
    status = world.api.objects[WORK_PACKAGES, *key]["status"]
    return {
        "ran": world.ran,
        "phase": status["phase"],
        "records": [
            (item["id"], item["marker"], item["attempts"], item["commit"], item["reason"])
            for item in status["subtasks"]
        ],
        "usage": status["usage"],
        "plan": world.plan,
        "history": {
            child["spec"]["id"]: [
                (attempt["number"], attempt["outcome"]) for attempt in child["status"]["attempts"]
            ]
            for child in world.api.of_kind(SUBTASKS)
        },
    }

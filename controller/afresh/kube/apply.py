"""Performs the actions of a decision. All other modules change only status and Events."""

from dataclasses import dataclass
from typing import Any, assert_never

from afresh.api.agent_class import AgentClass, Gate
from afresh.api.work_package import WorkPackage
from afresh.contract.pod_layout import ANNOTATION_BATCH, LABEL_ATTEMPT
from afresh.core.decision import (
    Action,
    CreateSubtask,
    DeleteJob,
    DeleteSubtask,
    Isolate,
    OpenGate,
    SetGate,
    StartEpisode,
    StartSync,
    UpdateSubtask,
)
from afresh.core.observed import Observed
from afresh.core.planner import child_spec
from afresh.kube.cache import Cache
from afresh.kube.client import Kube
from afresh.kube.errors import ConflictError, RefusedError
from afresh.kube.isolation import Isolation
from afresh.kube.resources import AGENT_CLASSES, JOBS, SUBTASKS, Manifest, Resource
from afresh.kube.seal import NO_SEAL, Seal
from afresh.manifests.job import JobParts, build_job
from afresh.manifests.subtask import build_subtask


@dataclass
class Applier:
    """Performs actions as API calls. Each may be repeated, because names are deterministic."""

    kube: Kube
    cache: Cache
    isolation: Isolation
    runner_image: str
    derives_users: bool = True
    seal: Seal = NO_SEAL

    async def apply(self, seen: Observed, action: Action) -> None:
        """Perform one action. Raises KubeError."""
        namespace = seen.package.metadata.namespace
        match action:
            case StartEpisode() | StartSync():
                await self._create(JOBS, self.job_of(seen, action))
            case Isolate():
                await self.isolation.establish(namespace, _class_of(seen))
            case SetGate():
                await self._set_gate(namespace, action)
            case OpenGate():
                self.cache.waits.open(namespace, action.wait)
            case DeleteJob():
                await self.kube.delete(JOBS, namespace, action.name, uid=action.uid)
            case CreateSubtask():
                await self._create(SUBTASKS, build_subtask(seen.package, action.entry))
            case UpdateSubtask():
                await self._update_subtask(seen.package, action)
            case DeleteSubtask():
                await self.kube.delete(SUBTASKS, namespace, action.name, uid=action.uid)
            case _:
                assert_never(action)

    def job_of(self, seen: Observed, action: StartEpisode | StartSync) -> Manifest:
        """Return the Job that the action creates."""
        own: dict[str, Any]
        if isinstance(action, StartSync):
            own = {"attempt": action.attempt, "plan": action.plan, "probe": action.probe}
        else:
            own = {
                "attempt": action.members[0].attempt,
                "members": action.members,
                "generations": action.generations,
                "inputs": action.inputs,
                "images": action.images,
                "probe": action.probe,
            }
        parts = JobParts(
            package=seen.package,
            agent_class=_class_of(seen),
            order=action.order,
            runner_image=self.runner_image,
            derives_users=self.derives_users,
            **own,
        )
        return self.seal.put_on(build_job(parts))

    async def _set_gate(self, namespace: str, action: SetGate) -> None:
        """Change one gate. If another package changed it in between, the step is repeated."""
        raw = self.cache.get(AGENT_CLASSES, "", action.class_name)
        if raw is None:
            return
        status = raw.get("status", {})
        mine = (namespace, action.secret_name)
        gates = {(item["namespace"], item["secretName"]): item for item in status.get("gates", [])}
        known = gates.pop(mine, None)
        if (Gate.model_validate(known) if known else None) != action.known:
            raise ConflictError(f"the gate of the Secret {action.secret_name} was changed")
        if action.gate:
            gates[mine] = action.gate.to_manifest()
        changed = {**status, "gates": list(gates.values())}
        self.cache.put(
            AGENT_CLASSES, await self.kube.replace_part(AGENT_CLASSES, raw, "status", changed)
        )

    async def _create(self, kind: Resource, body: Manifest) -> None:
        namespace = body["metadata"]["namespace"]
        try:
            made = await self.kube.create(kind, namespace, body)
        except ConflictError as error:
            made = await self.kube.get(kind, namespace, body["metadata"]["name"])
            if _is_foreign(made) or self._is_strange(kind, made, body):
                raise RefusedError(
                    f"{made['kind']} {made['metadata']['name']} already exists and does "
                    "not belong to this package; delete it."
                ) from error
            if _identity(made) != _identity(body) or "deletionTimestamp" in made["metadata"]:
                raise
        self.cache.put(kind, made)

    def _is_strange(self, kind: Resource, made: Manifest, body: Manifest) -> bool:
        """Whether somebody else created the object `made` under a name of this package."""
        of_package = _identity(made)[0] == _identity(body)[0]
        is_going = "deletionTimestamp" in made["metadata"]
        return kind is JOBS and of_package and not is_going and self.cache.is_strange(kind, made)

    async def _update_subtask(self, package: WorkPackage, action: UpdateSubtask) -> None:
        raw = self.cache.get(SUBTASKS, package.metadata.namespace, action.name)
        if raw is None:
            return
        spec = child_spec(action.entry, package.metadata.name).to_manifest()
        self.cache.put(SUBTASKS, await self.kube.replace_part(SUBTASKS, raw, "spec", spec))


def _class_of(seen: Observed) -> AgentClass:
    if seen.agent_class is None:
        raise AssertionError("nothing starts without a class")
    return seen.agent_class


def _is_foreign(made: Manifest) -> bool:
    """Whether only a person can remove it. Kubernetes removes those of a deleted package."""
    metadata = made["metadata"]
    owners = {owner["kind"] for owner in metadata.get("ownerReferences", [])}
    return "WorkPackage" not in owners and "deletionTimestamp" not in metadata


def _identity(body: Manifest) -> tuple[str | None, ...]:
    """Return the fields in which an existing object must equal the one to create."""
    metadata = body["metadata"]
    owners = metadata.get("ownerReferences", [])
    return (
        owners[0]["uid"] if owners else None,
        metadata.get("labels", {}).get(LABEL_ATTEMPT),
        metadata.get("annotations", {}).get(ANNOTATION_BATCH),
    )

"""A small API server in memory: resource versions, conflicts, generations, a watch.

Behaves as the real server does in what the loop relies on; `tests/apiserver` runs the same loop on
the real one. Objects are never changed in place, so whoever holds one holds what it was.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from afresh.kube.errors import ConflictError, KubeError, NotFoundError
from afresh.kube.resources import EVENTS, PODS, Manifest, Resource
from tests.make import NOW

CONTROLLER = "batch.kubernetes.io/controller-uid"
Name = tuple[Resource, str, str]


class Killed(BaseException):
    """The operator's process died at this instant."""


@dataclass
class ApiServer:
    """Objects by kind and name, and everything that a watch would tell.

    `around_write` is called before and after each write of the operator.
    """

    objects: dict[Name, Manifest] = field(default_factory=dict)
    changes: list[tuple[Resource, str, Manifest]] = field(default_factory=list)
    clock: timedelta = timedelta(0)
    writes: int = 0
    around_write: Callable[[str], None] = field(default=lambda _: None)
    version: int = 100
    made: Counter[Resource] = field(default_factory=Counter)
    """How many objects of each kind the operator has asked for."""
    lists: Counter[Resource] = field(default_factory=Counter)
    """How often the operator has listed each kind."""
    events: list[Manifest] = field(default_factory=list)
    """What the cluster tells of Jobs and pods; what the operator tells is only counted."""
    in_the_way: dict[Resource, KubeError] = field(default_factory=dict)
    """What the operator is answered that creates an object of the kind."""

    async def get(self, kind: Resource, namespace: str | None, name: str) -> Manifest:
        found = self.objects.get((kind, namespace or "", name))
        if found is None:
            raise NotFoundError(name)
        return found

    async def list_items(self, kind: Resource, namespace: str | None, **how: str) -> list[Manifest]:
        self.lists[kind] += 1
        if kind is EVENTS:
            uid = how["fieldSelector"].partition("involvedObject.uid=")[2].partition(",")[0]
            return [item for item in self.events if item["involvedObject"]["uid"] == uid]
        return [
            body
            for body in self.of_kind(kind)
            if namespace in (None, body["metadata"]["namespace"])
            and is_selected(body, how.get("labelSelector", ""))
        ]

    async def create(self, kind: Resource, namespace: str | None, body: Manifest) -> Manifest:
        self.made[kind] += 1
        if kind is EVENTS:
            return body  # nothing rests on them, and they are written beside the loop
        if kind in self.in_the_way:
            raise self.in_the_way[kind]
        return self._write(lambda: self.put_new(kind, body))

    async def replace_part(self, kind: Resource, old: Manifest, part: str, value: Any) -> Manifest:
        return self._write(lambda: self.put_part(kind, old, part, value))

    async def delete(self, kind: Resource, namespace: str, name: str, *, uid: str) -> None:
        self._write(lambda: self.remove(kind, namespace, name, uid=uid))

    def tell(self, about: Manifest, reason: str, message: str) -> None:
        """Write an Event as the cluster does."""
        metadata = about["metadata"]
        changes = {"reason": reason, "message": message, "type": "Warning"}
        self.events.append(
            {**changes, "lastTimestamp": self.time(), "involvedObject": {"uid": metadata["uid"]}}
        )

    def put_new(self, kind: Resource, body: Manifest) -> Manifest:
        name = (kind, body["metadata"].get("namespace", ""), body["metadata"]["name"])
        if name in self.objects:
            raise ConflictError(f"{name[2]} exists")
        made = {
            "uid": f"uid-{self.version + 1}",
            "generation": 1,
            "creationTimestamp": self.time(),
            **body["metadata"],
        }
        return self._store(name, "ADDED", {**body, "metadata": made})

    def put_part(self, kind: Resource, old: Manifest, part: str, value: Any) -> Manifest:
        metadata = old["metadata"]
        name = (kind, metadata.get("namespace", ""), metadata["name"])
        known = self.objects.get(name)
        if known is None:
            raise NotFoundError(metadata["name"])
        if known["metadata"]["resourceVersion"] != metadata["resourceVersion"]:
            raise ConflictError("the object has been modified")
        made = {**known["metadata"]}
        made["generation"] += part == "spec"
        if part == "metadata":
            made |= value
            value = made
        return self._store(name, "MODIFIED", {**known, "metadata": made, part: value})

    def remove(self, kind: Resource, namespace: str, name: str, *, uid: str) -> None:
        """Delete at once; the pods of a Job are asked to end."""
        known = self.objects.get((kind, namespace, name))
        if known is None or known["metadata"]["uid"] != uid:
            return
        self._store((kind, namespace, name), "DELETED", known)
        del self.objects[kind, namespace, name]
        for pod in self.of_kind(PODS):
            if _label_of(pod, CONTROLLER) == uid:
                self.ask_to_end(pod)

    def ask_to_end(self, pod: Manifest) -> None:
        """Give a pod its grace period."""
        if "deletionTimestamp" not in pod["metadata"]:
            self.put_part(PODS, pod, "metadata", {"deletionTimestamp": self.time()})

    def of_kind(self, kind: Resource) -> list[Manifest]:
        return [
            body
            for (other, _, _), body in sorted(self.objects.items(), key=lambda i: i[0][1:])
            if other == kind
        ]

    def time(self) -> str:
        return (NOW + self.clock).isoformat()

    def _store(self, name: Name, change: str, body: Manifest) -> Manifest:
        self.version += 1
        body = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self.version)}}
        self.objects[name] = body
        self.changes.append((name[0], change, body))
        return body

    def _write(self, perform: Callable[[], Any]) -> Any:
        self.writes += 1
        self.around_write("before")
        answer = perform()
        self.around_write("after")
        return answer


def is_selected(body: Manifest, selector: str) -> bool:
    """Whether an object has the labels of a selector; of those without a value, any."""
    wanted = [item.partition("=") for item in selector.split(",") if item]
    found = [(_label_of(body, label), value, is_exact) for label, is_exact, value in wanted]
    return all(has == value if is_exact else has is not None for has, value, is_exact in found)


def _label_of(body: Manifest, label: str) -> str | None:
    if label == CONTROLLER:
        owners = body["metadata"].get("ownerReferences", [])
        return next((str(owner["uid"]) for owner in owners if owner.get("controller")), None)
    labels: dict[str, str] = body["metadata"].get("labels", {})
    return labels.get(label)

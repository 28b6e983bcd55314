"""An index of the Jobs that have not started yet, and of the kinds of pods that have.

This module owns the counts for slow start and for the limit on pods without a node, by class and
namespace, so that no step reads all Jobs. It must be used within one event loop.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TypeVar

from afresh.contract.pod_layout import (
    ANNOTATION_GATE,
    ANNOTATION_GENERATIONS,
    ANNOTATION_IMAGES,
    LABEL_AGENT_CLASS,
)
from afresh.core.history.shared_causes import STATUS_LOST, never_fits
from afresh.kube.resources import Manifest

K = TypeVar("K")
_NUMBER = re.compile("[0-9]{1,18}")
Name = tuple[str, str]
Kind = tuple[str, str, str]
"""Namespace, class and image set."""


@dataclass(frozen=True, slots=True)
class _Pod:
    """Whether a pod has a node, and whether its containers have started.

    `is_hopeless`: no node can ever hold it. It does not count against the limit; its shape has a
    gate.
    """

    has_node: bool
    has_started: bool
    is_hopeless: bool


class StartIndex:
    """The Jobs that have no started pod yet."""

    def __init__(self) -> None:
        self._jobs: dict[str, Manifest] = {}
        self._pods: dict[str, _Pod] = {}
        self._unstarted: dict[Kind, set[Name]] = defaultdict(set)
        self._without_node: dict[Name, set[Name]] = defaultdict(set)
        self._probes: dict[Name, set[Name]] = defaultdict(set)
        self._started: dict[Kind, int] = {}
        self._last: dict[Name, str] = {}

    def put_job(self, job: Manifest, *, runs: bool) -> None:
        """Add or update a Job; a Job that does not run is not counted."""
        uid = job["metadata"]["uid"]
        self.drop_job(job)
        last = self._last.get(_class_in(job), "")
        self._last[_class_in(job)] = max(last, job["metadata"]["creationTimestamp"])
        if runs:
            self._jobs[uid] = job
            self._count(job)

    def drop_job(self, job: Manifest) -> None:
        """Forget a Job."""
        known = self._jobs.pop(job["metadata"]["uid"], None)
        if known is None:
            return
        name = _name(known)
        _discard(self._unstarted, kind_of(known), name)
        _discard(self._without_node, _class_in(known), name)
        _discard(self._probes, _probe_of(known), name)

    def pod_of(self, pod: Manifest) -> "_Pod | None":
        """Return the entry of the Job's pod, or None."""
        return self._pods.get(_job_of(pod) or "")

    def put_pod(self, pod: Manifest) -> None:
        """Add or update a pod."""
        owner = _job_of(pod)
        if owner is None:
            return
        status = pod.get("status", {})
        containers = status.get("containerStatuses", [])
        now = _Pod(
            has_node=bool(containers) or _is_scheduled(status),
            has_started=bool(containers) and all(map(_has_started, containers)),
            is_hopeless=_never_fits(status),
        )
        self._pods[owner] = now
        if now.has_started:
            kind, generation = kind_of(pod), generation_of(pod)
            self._started[kind] = max(self._started.get(kind, generation), generation)
        job = self._jobs.get(owner)
        if job:
            self.put_job(job, runs=True)

    def drop_pod(self, pod: Manifest) -> None:
        """Forget a pod."""
        owner = _job_of(pod)
        if owner is not None:
            self._pods.pop(owner, None)

    def has_started(self, kind: Kind, generation: int) -> bool:
        """Whether a pod of the kind has started under this generation of its class, or a later."""
        return self._started.get(kind, -1) >= generation

    def unstarted(self, kind: Kind) -> set[Name]:
        """Return the Jobs of the kind whose pods have not started."""
        return self._unstarted.get(kind, set())

    def without_node(self, namespace: str, class_name: str) -> set[Name]:
        """Return the Jobs of the class in the namespace whose pods have no node yet."""
        return self._without_node.get((namespace, class_name), set())

    def last(self, namespace: str, class_name: str) -> str:
        """Return when the last Job of the class in the namespace was created; empty: unknown."""
        return self._last.get((namespace, class_name), "")

    def tries(self, namespace: str, probe: str) -> bool:
        """Whether a running Job has that probe annotation."""
        return (namespace, probe) in self._probes

    def _count(self, job: Manifest) -> None:
        name, pod = _name(job), self._pods.get(job["metadata"]["uid"])
        probe = _probe_of(job)
        if probe[1]:
            self._probes[probe].add(name)
        if job["spec"].get("suspend") or not kind_of(job)[2]:
            return
        if pod and pod.is_hopeless:
            return
        if pod is None or not pod.has_started:
            self._unstarted[kind_of(job)].add(name)
        if pod is None or not pod.has_node:
            self._without_node[_class_in(job)].add(name)


def _discard(index: dict[K, set[Name]], key: K, name: Name) -> None:
    if key in index:
        index[key].discard(name)
        if not index[key]:
            del index[key]


def kind_of(body: Manifest) -> Kind:
    """Return the kind of a Job or a pod; a sync has no image set."""
    metadata = body["metadata"]
    images = metadata.get("annotations", {}).get(ANNOTATION_IMAGES, "")
    return (*_class_in(body), images)


def generation_of(body: Manifest) -> int:
    """Return the generation of the class from which a Job or pod was built; 0 if unknown."""
    text = body["metadata"].get("annotations", {}).get(ANNOTATION_GENERATIONS, "")
    of_class = text.partition("/")[2]
    # Anybody who may create pods can forge the annotation.
    return int(of_class) if _NUMBER.fullmatch(of_class) else 0


def _class_in(body: Manifest) -> Name:
    metadata = body["metadata"]
    return metadata["namespace"], metadata.get("labels", {}).get(LABEL_AGENT_CLASS, "")


def _probe_of(job: Manifest) -> Name:
    metadata = job["metadata"]
    return metadata["namespace"], metadata.get("annotations", {}).get(ANNOTATION_GATE, "")


def _name(job: Manifest) -> Name:
    return job["metadata"]["namespace"], job["metadata"]["name"]


def _job_of(pod: Manifest) -> str | None:
    owners = pod["metadata"].get("ownerReferences", [])
    return next((str(item["uid"]) for item in owners if item.get("kind") == "Job"), None)


def _is_scheduled(status: Manifest) -> bool:
    conditions = status.get("conditions", [])
    return any(item["type"] == "PodScheduled" and item["status"] == "True" for item in conditions)


def _never_fits(status: Manifest) -> bool:
    messages = (
        item.get("message", "")
        for item in status.get("conditions", [])
        if item["type"] == "PodScheduled" and item["status"] == "False"
    )
    return any(never_fits(message) for message in messages)


def _has_started(status: Manifest) -> bool:
    state = status.get("state", {})
    if "terminated" in state:
        return bool(state["terminated"].get("reason") != STATUS_LOST)
    return "running" in state or "terminated" in status.get("lastState", {})

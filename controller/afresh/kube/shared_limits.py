"""Computes the limits that packages share with each other: gates, and the places of a class.

This module reads all packages in the cache at one instant. Everything here is synchronous, so that
no two packages take the same place.
"""

from collections import Counter
from datetime import datetime
from itertools import chain, islice

from afresh.api.agent_class import AgentClass, Gate
from afresh.api.package_status import SharedWait
from afresh.api.work_package import WorkPackage
from afresh.contract.pod_layout import ANNOTATION_BATCH, ANNOTATION_GATE, LABEL_AGENT_CLASS
from afresh.core.history.shared_causes import keys_of
from afresh.core.history.shared_waits import probe_text
from afresh.core.job_inputs import image_set_of
from afresh.core.names import probe_of
from afresh.core.observed import SharedLimits
from afresh.core.reasons import Reason
from afresh.kube.cache import Cache, package_of
from afresh.kube.queue import Key
from afresh.kube.resources import AGENT_CLASSES, JOBS, WORK_PACKAGES, Manifest
from afresh.kube.start_index import kind_of

MOST_BEFORE_FIRST_START = 4
"""How many Jobs find out whether pods of a kind can start; more would fail in the same way."""
MOST_WITHOUT_NODE = 10
"""How many waiting pods are enough for an autoscaler to add nodes."""


def shared_limits(
    cache: Cache, package: WorkPackage, agent_class: AgentClass, now: datetime
) -> SharedLimits:
    """Return the shared limits as they concern `package`."""
    key = Key(package.metadata.namespace, package.metadata.name)
    class_name, gate = _gate(cache, key.namespace, agent_class)
    waits = _waits(cache, package, agent_class)
    return SharedLimits(
        gate=gate,
        gate_class=class_name,
        gate_taken=gate is not None and gate.until <= now and _gate_taken(cache, key, gate),
        class_free=_class_free(cache, key, agent_class),
        waits=waits,
        tried=frozenset(
            (wait.cause, wait.key) for wait in waits if _is_tried(cache, key.namespace, wait)
        ),
        first_free=_first_free(cache, key.namespace, package, agent_class),
        room=_room(cache, key.namespace, agent_class),
    )


def _waits(cache: Cache, package: WorkPackage, agent_class: AgentClass) -> tuple[SharedWait, ...]:
    """Return the closed gates of all shared causes that the package depends on."""
    gates = [
        (package.metadata.namespace, str(cause), key)
        for cause, key in keys_of(package, agent_class)
    ]
    found = (cache.waits.closed(gate) for gate in gates)
    return tuple(wait for wait in found if wait)


def _is_tried(cache: Cache, namespace: str, wait: SharedWait) -> bool:
    """Whether a running Job waits at the gate or tries it."""
    probe = probe_text(wait)
    if cache.starts.tries(namespace, probe) or probe in _claimed(cache, namespace, ANNOTATION_GATE):
        return True
    holders = cache.waits.holders((namespace, wait.cause, wait.key))
    return any(cache.runs_by_name(namespace, name) for name in holders)


def _claimed(cache: Cache, namespace: str, annotation: str) -> list[str]:
    """Return the values of `annotation` in the Jobs that are being created at this moment."""
    return [
        job["metadata"].get("annotations", {}).get(annotation, "")
        for job in cache.claims.values()
        if job["metadata"]["namespace"] == namespace
    ]


def _first_free(
    cache: Cache, namespace: str, package: WorkPackage, agent_class: AgentClass
) -> int | None:
    """Return how many more Jobs may be created before one of this kind has started; None: any."""
    images = image_set_of(package, agent_class)
    kind = (namespace, agent_class.metadata.name, images)
    if cache.starts.has_started(kind, agent_class.metadata.generation):
        return None
    there = cache.starts.unstarted(kind)
    claims = {_name(job) for job in cache.claims.values() if kind_of(job) == kind}
    return max(MOST_BEFORE_FIRST_START - len(there | claims), 0)


def _room(cache: Cache, namespace: str, agent_class: AgentClass) -> int:
    """Return how many more pods of the class may wait for a node in the namespace."""
    mine = (namespace, agent_class.metadata.name)
    there = cache.starts.without_node(*mine)
    claims = {_name(job) for job in cache.claims.values() if kind_of(job)[:2] == mine}
    return max(MOST_WITHOUT_NODE - len(there | claims), 0)


def _name(job: Manifest) -> tuple[str, str]:
    return job["metadata"]["namespace"], job["metadata"]["name"]


def next_in_line(cache: Cache, namespace: str, class_name: str) -> list[Key]:
    """Return the packages to wake when a place of the class may be free.

    The package that has waited longest for its turn, and of those that wait at the gate of the
    class's Secret in the namespace the one whose last episode began longest ago.
    """
    waiting = _waiting_for(cache, class_name)
    turn = min(waiting, key=lambda key: _turn(cache, class_name, key), default=None)
    secret = _secret_of(cache, class_name)
    waiting_at = _waiting_at(cache, namespace, secret) if secret else []
    gate = min(waiting_at, key=lambda key: _turn_at_gate(cache, key), default=None)
    return [key for key in (turn, gate) if key]


def waiting_to_start(cache: Cache, namespace: str, class_name: str) -> list[Key]:
    """Return the packages to wake when a pod of the class was scheduled or has started.

    No more than may start: each of them wakes the next when its pod is scheduled.
    """
    waiting = chain.from_iterable(
        cache.with_reason(reason, namespace=namespace, class_name=class_name)
        for reason in (Reason.FIRST_START, Reason.NO_CAPACITY)
    )
    room = MOST_WITHOUT_NODE - len(cache.starts.without_node(namespace, class_name))
    return [_key(raw) for raw in islice(waiting, max(room, 0))]


def _gate(cache: Cache, namespace: str, agent_class: AgentClass) -> tuple[str, Gate | None]:
    """Return the gate that opens last, after the class whose status has it; None: it is open."""
    credentials = agent_class.spec.credentials
    if credentials is None:
        return "", None
    mine = (namespace, credentials.secret_name)
    found = [
        (raw["metadata"]["name"], Gate.model_validate(item))
        for raw in cache.all(AGENT_CLASSES)
        for item in raw.get("status", {}).get("gates", [])
        if (item["namespace"], item["secretName"]) == mine
    ]
    return max(found, key=lambda pair: pair[1].until, default=("", None))


def _gate_taken(cache: Cache, key: Key, gate: Gate) -> bool:
    """Whether another episode probes the gate, or another waiting package comes first."""
    probe = probe_of(gate)
    for job in cache.live_jobs():
        notes = job["metadata"].get("annotations", {})
        if job["metadata"]["namespace"] == gate.namespace and notes.get(ANNOTATION_GATE) == probe:
            return True
    mine = _turn_at_gate(cache, key)
    waiting = _waiting_at(cache, key.namespace, gate.secret_name)
    return any(_turn_at_gate(cache, other) < mine for other in waiting)


def _waiting_at(cache: Cache, namespace: str, secret: str) -> list[Key]:
    return [
        _key(raw)
        for raw in cache.with_reason(Reason.GATE_CLOSED, namespace=namespace)
        if _secret_of(cache, raw["spec"]["agentClassName"]) == secret
    ]


def _secret_of(cache: Cache, class_name: str) -> str | None:
    agent_class = cache.get(AGENT_CLASSES, "", class_name)
    credentials = agent_class["spec"].get("credentials", {}) if agent_class else {}
    name: str | None = credentials.get("secretName")
    return name


def _class_free(cache: Cache, key: Key, agent_class: AgentClass) -> int | None:
    """Return how many episodes of the class the package may start, after packages before it."""
    limit = agent_class.spec.max_concurrent_episodes
    if limit is None:
        return None
    name = agent_class.metadata.name
    mine = _turn(cache, name, key)
    before = sum(
        1
        for other in _waiting_for(cache, name)
        if other != key and _turn(cache, name, other) < mine
    )
    return max(limit - sum(_live_of(cache, name).values()) - before, 0)


def _waiting_for(cache: Cache, class_name: str) -> list[Key]:
    return [_key(raw) for raw in cache.with_reason(Reason.CLASS_BUSY, class_name=class_name)]


def _turn(cache: Cache, class_name: str, key: Key) -> tuple[str, ...]:
    """Return the sort key for turns: the start of the last episode, or the age without one.

    The last episode of the class in the whole namespace is compared first. Otherwise a namespace
    with many packages would delay the others.
    """
    return cache.starts.last(key.namespace, class_name), *_last_and_created(cache, key), *key


def _turn_at_gate(cache: Cache, key: Key) -> tuple[str, ...]:
    """Return the sort key for probes: the package whose last episode began longest ago is first.

    New packages come after all others. A probe without a result does not change the gate, and its
    package is then the last one.
    """
    return max(_last_and_created(cache, key)), *key


def _last_and_created(cache: Cache, key: Key) -> tuple[str, str]:
    """Return when the package's last episode began, or an empty text, and when it was created."""
    last = max(
        (job["metadata"]["creationTimestamp"] for job in cache.children(JOBS, key)), default=""
    )
    raw = cache.get(WORK_PACKAGES, *key)
    return last, raw["metadata"].get("creationTimestamp", "") if raw else ""


def _live_of(cache: Cache, class_name: str) -> Counter[Key]:
    """Return how many episodes of the class each package runs, without those that have ended."""
    counts: Counter[Key] = Counter()
    for job in cache.live_jobs():
        metadata = job["metadata"]
        package = package_of(job)
        hint = cache.hint(metadata.get("uid", ""), None)
        if package is None or metadata["labels"].get(LABEL_AGENT_CLASS) != class_name:
            continue
        if metadata.get("annotations", {}).get(ANNOTATION_BATCH) and not (hint and hint.final):
            counts[package] += 1
    return counts


def _key(raw: Manifest) -> Key:
    return Key(raw["metadata"]["namespace"], raw["metadata"]["name"])

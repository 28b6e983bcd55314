"""What the packages share with each other: a credential's gate, and the episodes of a class.

Looks at what is known of all packages at one instant. Everything here is synchronous, so that no
two packages can take the same place.
"""

from collections import Counter
from datetime import datetime

from afresh.api.agent_class import AgentClass, Gate
from afresh.api.work_package import WorkPackage
from afresh.contract.pod_layout import ANNOTATION_BATCH, ANNOTATION_GATE, LABEL_AGENT_CLASS
from afresh.core.names import probe_of
from afresh.core.observed import Others
from afresh.core.reasons import Reason
from afresh.kube.cache import Cache, package_of
from afresh.kube.client import AGENT_CLASSES, JOBS, WORK_PACKAGES, Manifest
from afresh.kube.queue import Key


def others(cache: Cache, package: WorkPackage, agent_class: AgentClass, now: datetime) -> Others:
    """Return what `package` finds of the others."""
    key = Key(package.metadata.namespace, package.metadata.name)
    class_name, gate = _gate(cache, key.namespace, agent_class)
    return Others(
        gate=gate,
        gate_class=class_name,
        gate_taken=gate is not None and gate.until <= now and _gate_taken(cache, key, gate),
        class_free=_class_free(cache, key, agent_class),
    )


def next_in_line(cache: Cache, namespace: str, class_name: str) -> list[Key]:
    """Return whom to wake when the line for an episode of the class may have moved.

    The package that has waited longest for its turn, and the first in name order that waits at the
    gate of the class's Secret in the namespace.
    """
    turn = min(_waiting_for(cache, class_name), key=lambda key: _turn(cache, key), default=None)
    secret = _secret_of(cache, class_name)
    gate = min(_waiting_at(cache, namespace, secret), default=None) if secret else None
    return [key for key in (turn, gate) if key]


def _gate(cache: Cache, namespace: str, agent_class: AgentClass) -> tuple[str, Gate | None]:
    """The gate that closes last, in whichever class's status it stands."""
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
    return any(other < key for other in _waiting_at(cache, key.namespace, gate.secret_name))


def _waiting_at(cache: Cache, namespace: str, secret: str) -> list[Key]:
    return [
        _key(raw)
        for raw in cache.all(WORK_PACKAGES)
        if raw["metadata"]["namespace"] == namespace
        and raw.get("status", {}).get("reason") == Reason.GATE_CLOSED
        and _secret_of(cache, raw["spec"]["agentClassName"]) == secret
    ]


def _secret_of(cache: Cache, class_name: str) -> str | None:
    agent_class = cache.get(AGENT_CLASSES, "", class_name)
    credentials = agent_class["spec"].get("credentials", {}) if agent_class else {}
    name: str | None = credentials.get("secretName")
    return name


def _class_free(cache: Cache, key: Key, agent_class: AgentClass) -> int | None:
    """How many episodes of the class the package may start, after those that come before it."""
    limit = agent_class.spec.max_concurrent_episodes
    if limit is None:
        return None
    name = agent_class.metadata.name
    mine = _turn(cache, key)
    before = sum(
        1 for other in _waiting_for(cache, name) if other != key and _turn(cache, other) < mine
    )
    return max(limit - sum(_live_of(cache, name).values()) - before, 0)


def _waiting_for(cache: Cache, class_name: str) -> list[Key]:
    return [
        _key(raw)
        for raw in cache.all(WORK_PACKAGES)
        if raw.get("status", {}).get("reason") == Reason.CLASS_BUSY
        and raw["spec"]["agentClassName"] == class_name
    ]


def _turn(cache: Cache, key: Key) -> tuple[str, str, str, str]:
    """Who comes first: whose last episode began longest ago; among those without, the oldest."""
    last = max(
        (job["metadata"]["creationTimestamp"] for job in cache.children(JOBS, key)), default=""
    )
    raw = cache.get(WORK_PACKAGES, *key)
    created = raw["metadata"].get("creationTimestamp", "") if raw else ""
    return last, created, *key


def _live_of(cache: Cache, class_name: str) -> Counter[Key]:
    """How many episodes of the class each package runs; one that has reported its end is over."""
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

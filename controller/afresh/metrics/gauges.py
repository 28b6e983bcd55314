"""Gauges of packages, episodes and gates, computed from the cluster's objects at each scrape.

This module keeps no state, so gauges always match the objects. It reads raw objects, so that
packages that cannot be parsed are counted, too. It must be used within one event loop.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from afresh.api.phases import ENDED, PackagePhase, SubtaskPhase
from afresh.contract.pod_layout import ANNOTATION_BATCH, LABEL_AGENT_CLASS
from afresh.contract.words import ContextMode
from afresh.core.status import PROGRESSING
from afresh.metrics.registry import NONE, Family, described

NEAR = Decimal("0.8")
TOKENS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")

PACKAGES = described(
    "afresh_packages",
    "gauge",
    "Packages by phase and reason.",
    "namespace",
    "agent_class",
    "context_mode",
    "phase",
    "reason",
)
SUBTASKS = described(
    "afresh_subtasks",
    "gauge",
    "Subtasks of all packages by phase and reason.",
    "namespace",
    "agent_class",
    "phase",
    "reason",
)
NEAR_BUDGET = described(
    "afresh_packages_near_budget",
    "gauge",
    "Packages that have used four fifths of their budget and have not ended, by limit.",
    "namespace",
    "agent_class",
    "limit",
)
LIVE = described(
    "afresh_live_episodes",
    "gauge",
    "Episodes that have not ended, by state: queued or running.",
    "namespace",
    "agent_class",
    "runtime_class",
    "state",
)
LIMIT = described(
    "afresh_agent_class_max_concurrent_episodes",
    "gauge",
    "How many episodes of the class may run at once, where it has a limit.",
    "agent_class",
)
GATE_OPEN = described(
    "afresh_gate_open",
    "gauge",
    "1 while the credential's gate is open, 0 while its provider refuses requests.",
    "namespace",
    "secret_name",
)
GATE_CLOSED_SINCE = described(
    "afresh_gate_closed_since_timestamp_seconds",
    "gauge",
    "Time at which the credential's gate closed; absent while it is open or no active package uses "
    "it.",
    "namespace",
    "secret_name",
    "reason",
)

Series = dict[tuple[str, ...], float]
Manifest = dict[str, Any]


class ClusterView(Protocol):
    """The objects that the gauges read, as raw manifests."""

    def packages(self) -> Iterable[Manifest]:
        """Yield every WorkPackage."""
        ...

    def classes(self) -> Iterable[Manifest]:
        """Yield every AgentClass."""
        ...

    def running_jobs(self) -> Iterable[Manifest]:
        """Yield the Jobs that have not ended and whose runner has not reported the end."""
        ...


class Gauges(Collector):
    """Collects the gauges of one view. Only the leader registers it, when its loop begins."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view

    def describe(self) -> list[GaugeMetricFamily]:
        """Return an empty list: the gauges are not known before they are collected."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield every gauge with its current value."""
        packages = list(self._view.packages())
        classes = {raw["metadata"]["name"]: raw for raw in self._view.classes()}
        gates = [gate for raw in classes.values() for gate in _status(raw).get("gates", ())]
        yield _gauge(PACKAGES, Counter(map(_package, packages)))
        yield _gauge(SUBTASKS, Counter(key for raw in packages for key in _subtasks(raw)))
        yield _gauge(NEAR_BUDGET, Counter(key for raw in packages for key in _near(raw)))
        yield _gauge(LIVE, Counter(self._live(classes)))
        yield _gauge(LIMIT, dict(_limits(classes)))
        yield _gauge(GATE_OPEN, _open_gates(packages, classes, gates))
        yield _gauge(GATE_CLOSED_SINCE, dict(_closed_gates(packages, classes, gates)))

    def _live(self, classes: dict[str, Manifest]) -> Iterator[tuple[str, ...]]:
        for job in self._view.running_jobs():
            metadata = job["metadata"]
            if ANNOTATION_BATCH not in metadata.get("annotations", {}):
                continue  # a sync has no agent
            name = metadata["labels"].get(LABEL_AGENT_CLASS, NONE)
            pod = classes.get(name, {}).get("spec", {}).get("pod", {})
            state = "queued" if job["spec"].get("suspend") else "running"
            yield metadata["namespace"], name, pod.get("runtimeClassName", NONE), state


def _gauge(family: Family, series: Series | Counter[tuple[str, ...]]) -> GaugeMetricFamily:
    found = GaugeMetricFamily(family.name, family.text, labels=family.labels)
    for labels, value in sorted(series.items()):
        found.add_metric(labels, value)
    return found


def _status(raw: Manifest) -> Manifest:
    status: Manifest = raw.get("status", {})
    return status


def _whose(raw: Manifest) -> tuple[str, str]:
    return raw["metadata"]["namespace"], raw["spec"]["agentClassName"]


def _package(raw: Manifest) -> tuple[str, ...]:
    status = _status(raw)
    mode = raw["spec"].get("context", {}).get("mode", ContextMode.FRESH_PER_SUBTASK)
    phase = status.get("phase", PackagePhase.PENDING)
    return *_whose(raw), str(mode), str(phase), status.get("reason", "")


def _subtasks(raw: Manifest) -> Iterator[tuple[str, ...]]:
    """Yield the labels of each subtask in the spec.

    The record of a removed subtask is skipped: it only preserves the attempt number.
    """
    wanted = {entry["id"] for entry in raw["spec"]["subtasks"]}
    for record in _status(raw).get("subtasks", ()):
        if record["id"] in wanted:
            phase = record.get("phase", SubtaskPhase.PENDING)
            yield *_whose(raw), str(phase), record.get("reason", "")


def _near(raw: Manifest) -> Iterator[tuple[str, ...]]:
    status, budget = _status(raw), raw["spec"].get("budget", {})
    if not budget or status.get("phase") in ENDED:
        return
    usage = status.get("usage", {})
    used = {
        "maxTokens": Decimal(sum(usage.get(name, 0) for name in TOKENS)),
        "maxCostUSD": Decimal(usage.get("costUSD", 0)),
    }
    for limit, amount in used.items():
        if limit in budget and amount >= NEAR * Decimal(budget[limit]):
            yield *_whose(raw), limit


def _limits(classes: dict[str, Manifest]) -> Iterator[tuple[tuple[str, ...], float]]:
    for name, raw in classes.items():
        limit = raw["spec"].get("maxConcurrentEpisodes")
        if limit is not None:
            yield (name,), float(limit)


def _open_gates(
    packages: list[Manifest], classes: dict[str, Manifest], gates: list[Manifest]
) -> Series:
    """Return 1 for every credential that a package uses, or 0 if its gate is closed."""
    found: Series = dict.fromkeys(_credentials(packages, classes), 1)
    return found | {(gate["namespace"], gate["secretName"]): 0 for gate in gates}


def _closed_gates(
    packages: list[Manifest], classes: dict[str, Manifest], gates: list[Manifest]
) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield the closed gates for which an active package waits.

    The gate of an unused credential stays closed, because no episode tries it.
    """
    active = [raw for raw in packages if _status(raw).get("phase") in PROGRESSING]
    used = set(_credentials(active, classes))
    for gate in gates:
        name = gate["namespace"], gate["secretName"]
        if name in used:
            yield (*name, gate.get("reason", "")), _since(gate)


def _credentials(
    packages: list[Manifest], classes: dict[str, Manifest]
) -> Iterator[tuple[str, ...]]:
    """Yield the namespace and the Secret of each package whose class has credentials."""
    for raw in packages:
        namespace, name = _whose(raw)
        credentials = classes.get(name, {}).get("spec", {}).get("credentials", {})
        if credentials:
            yield namespace, credentials["secretName"]


def _since(gate: Manifest) -> float:
    return datetime.fromisoformat(gate["since"]).timestamp()

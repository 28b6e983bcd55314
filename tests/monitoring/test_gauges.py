"""The gauges: how things stand in the operator's view of the cluster, at the moment of asking."""

from typing import Any

import pytest

from afresh.contract.report import Report
from afresh.kube.cache import Cache
from afresh.kube.metrics_view import MetricsView
from afresh.kube.resources import AGENT_CLASSES, JOBS, WORK_PACKAGES, Manifest
from afresh.metrics.gauges import Gauges
from tests.make import make_class, make_entry, make_package

Found = dict[tuple[str, ...], float]


def value_of(cache: Cache, name: str) -> Found:
    """The series of one gauge, by the values of their labels in the order of the labels."""
    (family,) = [item for item in Gauges(MetricsView(cache)).collect() if item.name == name]
    return {tuple(item.labels.values()): item.value for item in family.samples}


def cached(*objects: tuple[Any, Manifest]) -> Cache:
    cache = Cache()
    for kind, body in objects:
        cache.put(kind, body)
    return cache


def package(name: str, status: dict[str, Any] | None = None, **spec: Any) -> tuple[Any, Manifest]:
    made = make_package(metadata={"name": name, "uid": name}, **spec).to_manifest()
    return WORK_PACKAGES, {**made, "status": status or {}}


def agent_class(status: dict[str, Any] | None = None, **spec: Any) -> tuple[Any, Manifest]:
    return AGENT_CLASSES, {**make_class(**spec).to_manifest(), "status": status or {}}


def job(name: str, *, batch: str = "T001:1:0", suspend: bool = False, ended: bool = False) -> Any:
    conditions = [{"type": "Complete", "status": "True"}] if ended else []
    labels = {"afresh.dev/package": "p", "afresh.dev/agent-class": "command"}
    notes = {"afresh.dev/batch": batch} if batch else {}
    metadata = {"name": name, "namespace": "team-a", "uid": name, "labels": labels}
    return JOBS, {
        "metadata": {
            **metadata,
            "annotations": notes,
            "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"suspend": suspend},
        "status": {"conditions": conditions},
    }


def test_packages_are_counted_by_phase_reason_and_mode() -> None:
    running = {"phase": "Running", "reason": "EpisodeRunning"}
    cache = cached(
        package("a", running),
        package("b", running),
        package("c", running, context={"mode": "Persistent"}),
        package("d"),
    )

    assert value_of(cache, "afresh_packages") == {
        ("team-a", "command", "FreshPerSubtask", "Running", "EpisodeRunning"): 2,
        ("team-a", "command", "Persistent", "Running", "EpisodeRunning"): 1,
        ("team-a", "command", "FreshPerSubtask", "Pending", ""): 1,
    }


def test_a_package_that_is_gone_is_counted_no_more() -> None:
    kind, body = package("a", {"phase": "Stalled", "reason": "InvalidSpec"})
    cache = cached((kind, body))
    before = value_of(cache, "afresh_packages")
    cache.drop(kind, body)

    assert (len(before), value_of(cache, "afresh_packages")) == (1, {})


def test_subtasks_are_counted_as_recorded_but_for_those_that_were_removed() -> None:
    records = [
        {"id": "T001", "phase": "Done", "reason": "Verified"},
        {"id": "T002", "phase": "Running", "reason": "Auth"},
        {"id": "T003", "phase": "Skipped", "reason": "Removed"},
    ]
    subtasks = [make_entry("T001"), make_entry("T002")]
    cache = cached(package("a", {"subtasks": records}, subtasks=subtasks))

    assert value_of(cache, "afresh_subtasks") == {
        ("team-a", "command", "Done", "Verified"): 1,
        ("team-a", "command", "Running", "Auth"): 1,
    }


BUDGET = {"maxTokens": 1000, "maxCostUSD": "5.00"}


@pytest.mark.parametrize(
    ("status", "want"),
    [
        pytest.param({}, set(), id="nothing is used"),
        pytest.param({"usage": {"inputTokens": 799}}, set(), id="a little less than four fifths"),
        pytest.param(
            {"usage": {"inputTokens": 400, "cacheReadTokens": 400}},
            {"maxTokens"},
            id="four fifths of the tokens of all kinds",
        ),
        pytest.param({"usage": {"costUSD": "4.00"}}, {"maxCostUSD"}, id="four fifths of the cost"),
        pytest.param(
            {"phase": "Failed", "usage": {"costUSD": "5.01"}}, set(), id="it has ended over it"
        ),
    ],
)
def test_a_package_near_its_budget_is_counted_by_the_limit(
    status: dict[str, Any], want: set[str]
) -> None:
    found = value_of(cached(package("a", status, budget=BUDGET)), "afresh_packages_near_budget")

    assert found == {("team-a", "command", limit): 1 for limit in want}


def test_live_episodes_are_counted_by_runtime_class_and_whether_they_are_queued() -> None:
    cache = cached(
        agent_class(pod={"runtimeClassName": "gvisor"}),
        job("runs"),
        job("waits", suspend=True),
        job("over", ended=True),
        job("sync", batch=""),
        job("told"),
    )
    cache.keep_hint("told", "pod", Report(episode="told", stage="reported", final=True))

    assert value_of(cache, "afresh_live_episodes") == {
        ("team-a", "command", "gvisor", "running"): 1,
        ("team-a", "command", "gvisor", "queued"): 1,
    }


def test_a_job_whose_class_is_gone_is_live_all_the_same() -> None:
    found = value_of(cached(job("runs")), "afresh_live_episodes")

    assert found == {("team-a", "command", "<none>", "running"): 1}


GATE = {
    "namespace": "team-a",
    "secretName": "key",
    "since": "2030-01-02T03:04:05Z",
    "until": "2030-01-02T03:05:05Z",
    "reason": "RateLimited",
}


@pytest.mark.parametrize(
    ("gates", "phase", "want_open", "want_since"),
    [
        pytest.param([], "Running", {("team-a", "key"): 1}, {}, id="open"),
        pytest.param(
            [GATE],
            "Pending",
            {("team-a", "key"): 0},
            {("team-a", "key", "RateLimited"): 1893553445.0},
            id="closed",
        ),
        pytest.param(
            [GATE],
            "Running",
            {("team-a", "key"): 0},
            {("team-a", "key", "RateLimited"): 1893553445.0},
            id="closed, and an episode tries it",
        ),
        pytest.param(
            [GATE], "Failed", {("team-a", "key"): 0}, {}, id="closed, and nobody waits any more"
        ),
    ],
)
def test_a_credential_that_packages_use_has_a_gate(
    gates: list[dict[str, str]], phase: str, want_open: Found, want_since: Found
) -> None:
    own = {"adapter": "Claude", "command": None, "credentials": {"secretName": "key"}}
    fields = {"phase": phase}
    cache = cached(agent_class({"gates": gates}, **own), package("a", fields), package("b", fields))

    assert value_of(cache, "afresh_gate_open") == want_open
    assert value_of(cache, "afresh_gate_closed_since_timestamp_seconds") == want_since


def test_a_class_has_a_limit_series_only_if_it_has_a_limit() -> None:
    limited, free = cached(agent_class(maxConcurrentEpisodes=3)), cached(agent_class())
    name = "afresh_agent_class_max_concurrent_episodes"

    assert (value_of(limited, name), value_of(free, name)) == ({("command",): 3}, {})


def test_a_gate_that_was_closed_when_its_last_package_was_deleted_is_closed_for_nobody() -> None:
    own = {"adapter": "Claude", "command": None, "credentials": {"secretName": "key"}}
    cache = cached(agent_class({"gates": [GATE]}, **own))

    assert value_of(cache, "afresh_gate_closed_since_timestamp_seconds") == {}

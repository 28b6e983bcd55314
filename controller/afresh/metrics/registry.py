"""The operator's metrics: the registry, and the counters.

The metrics of the loop and the queue have controller-runtime's names, so that its dashboards work.
The number of series is bounded: no label is the name of a package, a subtask, a pod or a Job.
`gauges` computes its values at each scrape; `FAMILIES` describes all metrics.
"""

from dataclasses import dataclass

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)

from afresh import __version__

disable_created_metrics()  # type: ignore[no-untyped-call]

REGISTRY = CollectorRegistry()
CONTROLLER = "workpackage"
CLASS_CONTROLLER = "agentclass"
NONE = "<none>"
FAST = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 10, 60)
SLOW = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200, 3600)


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: its name, type, help text and labels."""

    name: str
    type: str
    text: str
    labels: tuple[str, ...] = ()


FAMILIES: list[Family] = []


def described(name: str, kind: str, text: str, *labels: str) -> Family:
    """Return the description of a metric, and add it to `FAMILIES`."""
    family = Family(name, kind, text, labels)
    FAMILIES.append(family)
    return family


def counter(name: str, text: str, *labels: str) -> Counter:
    """Return a new counter in the registry; its name must end in `_total`."""
    described(name, "counter", text, *labels)
    return Counter(name, text, labels, registry=REGISTRY)


def gauge(name: str, text: str, *labels: str) -> Gauge:
    """Return a new gauge in the registry."""
    described(name, "gauge", text, *labels)
    return Gauge(name, text, labels, registry=REGISTRY)


def histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
    """Return a new histogram in the registry."""
    described(name, "histogram", text, *labels)
    return Histogram(name, text, labels, buckets=buckets, registry=REGISTRY)


RECONCILES = counter(
    "controller_runtime_reconcile_total",
    "Steps of the loop by result: success, requeue_after, requeue (an object had changed), error.",
    "controller",
    "result",
)
RECONCILE_ERRORS = counter(
    "controller_runtime_reconcile_errors_total", "Steps of the loop that failed.", "controller"
)
RECONCILE_SECONDS = histogram(
    "controller_runtime_reconcile_time_seconds",
    "Seconds that one step of the loop takes.",
    FAST,
    "controller",
)
ACTIVE_WORKERS = gauge(
    "controller_runtime_active_workers", "Workers that are executing a step.", "controller"
)
MAX_WORKERS = gauge(
    "controller_runtime_max_concurrent_reconciles", "Number of workers.", "controller"
)
QUEUE_DEPTH = gauge("workqueue_depth", "Packages that wait for a worker.", "name", "controller")
QUEUE_ADDS = counter(
    "workqueue_adds_total", "Packages that were put into the queue.", "name", "controller"
)
QUEUE_SECONDS = histogram(
    "workqueue_queue_duration_seconds",
    "Seconds that a package waits for a worker.",
    FAST,
    "name",
    "controller",
)
WORK_SECONDS = histogram(
    "workqueue_work_duration_seconds",
    "Seconds that a worker takes for a package.",
    FAST,
    "name",
    "controller",
)
QUEUE_RETRIES = counter(
    "workqueue_retries_total",
    "Packages that were delayed because a step failed or had to be repeated.",
    "name",
    "controller",
)
UNFINISHED_WORK = gauge(
    "workqueue_unfinished_work_seconds",
    "Seconds of work that is in progress and not yet in workqueue_work_duration_seconds.",
    "name",
    "controller",
)
LONGEST_RUNNING = gauge(
    "workqueue_longest_running_processor_seconds",
    "Seconds that the longest running worker has spent on its package.",
    "name",
    "controller",
)
API_REQUESTS = counter(
    "rest_client_requests_total",
    "Requests to the API server, except watches, by method and status code.",
    "method",
    "code",
    "host",
)
LEADER = gauge("leader_election_master_status", "1 while this replica is the leader.", "name")
BUILD = gauge("afresh_build_info", "Always 1; the label is the operator's version.", "version")
HINTS = counter(
    "afresh_report_hints_total", "Reports that runners sent to the operator, by result.", "result"
)
REFUSED_CONNECTIONS = counter(
    "afresh_refused_connections_total",
    "Connections that were refused or closed because there were too many, in total or from one "
    "address.",
    "port",
)
EVENTS_LOST = counter("afresh_events_lost_total", "Kubernetes Events that could not be written.")

BUILD.labels(version=__version__).set(1)
for _port in ("report", "metrics"):
    REFUSED_CONNECTIONS.labels(_port)
ProcessCollector(registry=REGISTRY)
for _controller in (CONTROLLER, CLASS_CONTROLLER):
    for _result in ("success", "requeue_after", "requeue", "error"):
        RECONCILES.labels(_controller, _result)
    RECONCILE_ERRORS.labels(_controller)


def reconciled(controller: str, result: str, seconds: float) -> None:
    """Count one step of a loop that a worker has finished."""
    ACTIVE_WORKERS.labels(controller).dec()
    RECONCILES.labels(controller, result).inc()
    RECONCILE_SECONDS.labels(controller).observe(seconds)
    if result == "error":
        RECONCILE_ERRORS.labels(controller).inc()

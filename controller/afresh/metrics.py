"""Prometheus metrics of the operator: the loop's under controller-runtime's names, and our own."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

disable_created_metrics()  # type: ignore[no-untyped-call]

REGISTRY = CollectorRegistry()
CONTROLLER = "workpackage"

RECONCILES = Counter(
    "controller_runtime_reconcile",
    "Reconciles by result.",
    ["controller", "result"],
    registry=REGISTRY,
)
RECONCILE_SECONDS = Histogram(
    "controller_runtime_reconcile_time_seconds",
    "How long one reconcile takes.",
    ["controller"],
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5),
    registry=REGISTRY,
)
QUEUE_DEPTH = Gauge("workqueue_depth", "Keys that wait.", ["name"], registry=REGISTRY)
API_REQUESTS = Counter(
    "rest_client_requests",
    "Requests to the API server by method and status code.",
    ["method", "code"],
    registry=REGISTRY,
)
OUTCOMES = Counter("afresh_episodes", "Ended episodes by outcome.", ["outcome"], registry=REGISTRY)
HINTS = Counter(
    "afresh_report_hints", "Hints at the report endpoint by result.", ["result"], registry=REGISTRY
)
EVENTS_LOST = Counter(
    "afresh_events_lost", "Kubernetes Events that could not be written.", registry=REGISTRY
)

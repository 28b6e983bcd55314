"""The operator's own pod, which stories kill and take away, and others must find at its place."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.cluster import Cluster, wait

NAMESPACE = "afresh-system"
DEPLOYMENT = "afresh-operator"
# Stories run side by side: what one does to the operator must not reach one that needs it.
_TURN = threading.RLock()


def kill(cluster: Cluster) -> None:
    """Kill the operator without a word; return when the next one is ready."""
    with _TURN:
        killed = _pods(cluster)
        for name in killed:
            cluster.api.delete("pods", name, NAMESPACE, gracePeriodSeconds=0)
        wait("another is ready", lambda: _ready(cluster) - killed, seconds=180)


@contextmanager
def away(cluster: Cluster) -> Iterator[None]:
    """Take the operator away for as long as the block lasts."""
    with _TURN:
        _scale(cluster, 0)
        try:
            wait("it is gone", lambda: not _pods(cluster), seconds=180)
            yield
        finally:
            _scale(cluster, 1)
            wait("it is ready", lambda: _ready(cluster), seconds=180)


@contextmanager
def undisturbed(cluster: Cluster) -> Iterator[None]:
    """Have an operator that no other story takes away for as long as the block lasts."""
    with _TURN:
        wait("it is ready", lambda: _ready(cluster), seconds=180)
        yield


def _pods(cluster: Cluster) -> set[str]:
    return {pod["metadata"]["name"] for pod in cluster.api.items("pods", NAMESPACE)}


def _ready(cluster: Cluster) -> set[str]:
    return {
        pod["metadata"]["name"]
        for pod in cluster.api.items("pods", NAMESPACE)
        for condition in pod.get("status", {}).get("conditions", [])
        if (condition["type"], condition["status"]) == ("Ready", "True")
    }


def _scale(cluster: Cluster, replicas: int) -> None:
    cluster.api.merge("deployments", DEPLOYMENT, NAMESPACE, {"spec": {"replicas": replicas}})

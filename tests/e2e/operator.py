"""The operator's own pod, which stories kill and take away."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.cluster import Cluster, wait

NAMESPACE = "afresh-system"
DEPLOYMENT = "afresh-operator"
# Two stories that take the operator away at the same time would give it back too early.
_TURN = threading.Lock()


def kill(cluster: Cluster) -> None:
    """Kill the operator without a word; its Deployment starts another."""
    for pod in cluster.api.items("pods", NAMESPACE):
        name = pod["metadata"]["name"]
        cluster.api.delete("pods", name, NAMESPACE, gracePeriodSeconds=0)


@contextmanager
def away(cluster: Cluster) -> Iterator[None]:
    """Take the operator away for as long as the block lasts."""
    with _TURN:
        _scale(cluster, 0)
        try:
            wait("it is gone", lambda: not cluster.api.items("pods", NAMESPACE), seconds=180)
            yield
        finally:
            _scale(cluster, 1)


def _scale(cluster: Cluster, replicas: int) -> None:
    cluster.api.merge("deployments", DEPLOYMENT, NAMESPACE, {"spec": {"replicas": replicas}})

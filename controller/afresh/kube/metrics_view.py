"""The read-only view of the cache that the metrics' gauges use."""

from collections.abc import Iterator

from afresh.kube.cache import Cache
from afresh.kube.resources import AGENT_CLASSES, WORK_PACKAGES, Manifest


class MetricsView:
    """Implements `afresh.metrics.gauges.ClusterView` for the cache."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def packages(self) -> Iterator[Manifest]:
        """Yield every WorkPackage."""
        return iter(self._cache.all(WORK_PACKAGES))

    def classes(self) -> Iterator[Manifest]:
        """Yield every AgentClass."""
        return iter(self._cache.all(AGENT_CLASSES))

    def running_jobs(self) -> Iterator[Manifest]:
        """Yield the Jobs that have not ended and whose runner has not reported the end."""
        for job in self._cache.live_jobs():
            hint = self._cache.hint(job["metadata"].get("uid", ""), None)
            if not (hint and hint.final):
                yield job

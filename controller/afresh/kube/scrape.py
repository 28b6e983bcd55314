"""The answer to a scrape of the metrics.

This module owns how often metrics are computed: at most once a second. Simultaneous requests share
the text, so that many or slow clients do not cost more.
"""

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from afresh import clock
from afresh.kube.http_message import Answer, Request

KEEP_SECONDS = 1.0


class Scrape:
    """Answers scrapes with the metrics of `metrics`."""

    def __init__(self, metrics: CollectorRegistry) -> None:
        self._metrics = metrics
        self._last: Answer | None = None
        self._at = 0.0

    async def answer(self, _: Request) -> Answer:
        """Return the metrics in Prometheus' text format, at most a second old."""
        now = clock.elapsed()
        if self._last is None or now - self._at >= KEEP_SECONDS:
            self._last = Answer(200, generate_latest(self._metrics), CONTENT_TYPE_LATEST)
            self._at = now
        return self._last

"""Reports to the operator what an agent uses while it works.

Owns the times: at intervals and, if those are short, also after the model's first answer, which
shows that the provider works.
"""

import contextlib
import threading
from collections.abc import Iterator

from afresh.episode.context import EpisodeContext

SHORT_SECONDS = 10


@contextlib.contextmanager
def reporting_usage(context: EpisodeContext) -> Iterator[None]:
    """Send hints with the usage until the block ends, if the Order has a URL for reports."""
    if not context.order.report_url:
        yield
        return
    ticker = _Ticker(context)
    ticker.start()
    try:
        yield
    finally:
        ticker.stop()


class _Ticker:
    def __init__(self, context: EpisodeContext) -> None:
        self._context = context
        self._interval = max(1, context.order.hint_seconds)
        self._is_stopped = False
        self._woken = threading.Event()
        self._thread = threading.Thread(target=self._run, name="usage", daemon=True)

    def start(self) -> None:
        if self._context.order.hint_seconds < SHORT_SECONDS:
            self._context.meter.on_first_answer = self._woken.set
        self._thread.start()

    def stop(self) -> None:
        self._is_stopped = True
        self._woken.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._woken.wait(self._interval)
            self._woken.clear()
            if self._is_stopped:
                return
            self._context.reporter.hint()

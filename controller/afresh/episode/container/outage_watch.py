"""Ends an agent whose provider lets it get no further: its own retries may take minutes.

Owns how often is looked. When it is time is `outage`'s.
"""

import contextlib
import threading
from collections.abc import Iterator

from afresh.adapters.adapter import Verdict
from afresh.episode.context import EpisodeContext
from afresh.episode.gateway.model_faults import fault_verdict

LOOK_SECONDS = 0.5


class OutageWatch:
    """Watches one run of the agent. `verdict` says why it was ended, if it was."""

    def __init__(self, context: EpisodeContext) -> None:
        self._work = context
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="outage", daemon=True)
        self.verdict: Verdict | None = None

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            fault = self._work.meter.gives_up_for
            if fault:
                self.verdict = fault_verdict(self._work.order, fault)
                self._work.log.say(f"ending the agent: {self.verdict.message}")
                self._work.agent_control.stop()
                return


@contextlib.contextmanager
def watching_outage(context: EpisodeContext) -> Iterator[OutageWatch]:
    """Watch until the block ends."""
    watch = OutageWatch(context)
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()

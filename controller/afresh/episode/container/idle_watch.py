"""Ends an agent that is alive and does nothing, where its class says how long it may.

Owns what counts as a sign of life: output, a request for the model that is under way, and a file of
the worktree or of HOME that was written. It is no defence: an agent can show signs on purpose.
"""

import contextlib
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from afresh.adapters.adapter import Verdict
from afresh.contract.words import Outcome
from afresh.episode.container.channel import Sink
from afresh.episode.context import EpisodeContext

LEAST_PAUSE_SECONDS = 0.5
# Looking takes at most a twentieth of the time.
PAUSES_PER_LOOK = 20
FIND_SECONDS = 30
IDLE = Verdict(
    outcome=Outcome.TIMEOUT,
    message="Raise spec.idleSeconds of the AgentClass, or see with afresh logs where the agent "
    "hangs: it showed no sign of life for so long.",
)


class IdleWatch:
    """Watches one run of the agent. `verdict` says that it was ended, if it was.

    Files are looked at only when nothing else has been seen for the whole time.
    """

    def __init__(self, context: EpisodeContext, seconds: float) -> None:
        self._work = context
        self._seconds = seconds
        self._heard = time.monotonic()
        self._over = threading.Event()
        self._acting = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="idle", daemon=True)
        self.verdict: Verdict | None = None

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more. A look at files is not waited for; a container being stopped is.

        Else an agent that ends well at that moment could be followed by another in its container.
        """
        with self._acting:
            self._over.set()

    def hear(self, sink: Sink) -> Sink:
        """Return `sink` as one whose bytes are signs of life."""

        def take(data: bytes) -> None:
            self._heard = time.monotonic()
            sink(data)

        return take

    def _run(self) -> None:
        pause = self._seconds
        while not self._over.wait(max(LEAST_PAUSE_SECONDS, pause)):
            began = time.monotonic()
            sign = self._last_sign(began)
            if began - sign >= self._seconds:
                self._act()
                return
            spent = time.monotonic() - began
            pause = max(self._seconds - (began - sign), PAUSES_PER_LOOK * spent)

    def _last_sign(self, now: float) -> float:
        """Return when the last sign was, as far as it matters; `now` where nobody can say."""
        known = self._last_told(now)
        if now - known < self._seconds:
            return known
        written = now - self._file_age()
        return max(written, self._last_told(now))  # the look has taken its time

    def _last_told(self, now: float) -> float:
        asked = self._work.meter.quiet_since
        return now if asked is None else max(self._heard, asked)

    def _file_age(self) -> float:
        """Return the age of a file that is young enough to be a sign; else the limit itself."""
        paths, moment = self._work.paths, time.time()
        try:
            changed = changed_since(moment - self._seconds, paths.worktree, paths.home)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return 0.0
        if changed is None:
            return self._seconds
        return min(moment - changed, self._seconds - LEAST_PAUSE_SECONDS)

    def _act(self) -> None:
        with self._acting:
            if not self._over.is_set():
                self.verdict = IDLE
                self._work.log.say(f"ending the agent: {IDLE.message}")
                self._work.agent_control.stop()


@contextlib.contextmanager
def watching_idleness(context: EpisodeContext) -> Iterator[IdleWatch | None]:
    """Watch until the block ends, where the Order names a limit."""
    limit = context.order.agent.idle_seconds
    if limit is None:
        yield None
        return
    watch = IdleWatch(context, limit)
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()


def changed_since(moment: float, *folders: Path) -> float | None:
    """Return when something below the folders was changed after `moment`; None: nothing was.

    Times are seconds since the epoch by the kernel's own record, which no program can set. The
    first such file ends the look. Raises OSError, ValueError, TimeoutExpired.
    """
    newer = ("-newerct", f"@{moment:.3f}", "-printf", "%C@\n", "-quit")
    command = ("find", *map(str, folders), *newer)
    # It exits with 1 when files vanish while it looks, or cannot be read.
    told = subprocess.run(  # noqa: S603  # a fixed program, and paths of our own
        command, capture_output=True, text=True, timeout=FIND_SECONDS, check=False
    )
    first = told.stdout.partition("\n")[0]
    return float(first) if first else None

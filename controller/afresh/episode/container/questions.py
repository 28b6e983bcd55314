"""The questions that may end an agent early, in the order in which they explain its end.

Owns when each is asked and what it looks at. How the agent is ended is in `watch`.
"""

import subprocess
import time
from pathlib import Path

from afresh.adapters.adapter import Reader, Verdict
from afresh.adapters.endings import USED_UP
from afresh.contract.abilities import gateway_api
from afresh.contract.words import Outcome
from afresh.episode.container.channel import Sink
from afresh.episode.context import EpisodeContext
from afresh.episode.gateway.model_faults import fault_verdict

# A bit less than what the kubelet acts on.
DISK_SHARE = 0.9
DISK_SECONDS = 1.0
DU_SECONDS = 30
OUTAGE_SECONDS = 0.5
IDLE_SECONDS = 0.5
FIND_SECONDS = 30
FULL = Verdict(
    outcome=Outcome.DISK_FULL,
    message="The agent wrote more than its limit; raise spec.resources.limits.ephemeral-storage or "
    "make the subtask smaller.",
)
IDLE = Verdict(
    outcome=Outcome.TIMEOUT,
    message="Raise spec.idleSeconds of the AgentClass, or see with afresh logs where the agent "
    "hangs: it showed no sign of life for so long.",
)


class DiskQuestion:
    """Has the agent written more than it may?

    The kubelet looks every ten seconds and more, and then takes the whole pod away, with the runner
    in it. The worktree and HOME count, as far as they can be read.
    """

    name = "disk"
    pause: float | None = DISK_SECONDS

    def __init__(self, context: EpisodeContext, limit: int) -> None:
        self._folders = (context.paths.worktree, context.paths.home)
        self._limit = int(limit * DISK_SHARE)

    def ask(self) -> Verdict | None:
        """Measure the folders."""
        return FULL if used_bytes(*self._folders) > self._limit else None


class OutageQuestion:
    """Does the provider let the agent get no further? Its own retries may take minutes."""

    name = "outage"
    pause: float | None = OUTAGE_SECONDS

    def __init__(self, context: EpisodeContext) -> None:
        self._context = context

    def ask(self) -> Verdict | None:
        """Ask the gateway's meter."""
        fault = self._context.meter.gives_up_for
        return fault_verdict(self._context.order, fault) if fault else None


class IdleQuestion:
    """Is the agent alive and does nothing?

    Signs of life are output, a request for the model that is under way, and a file of the worktree
    or of HOME that was written. Files are looked at only when nothing else has been seen for the
    whole time. It is no defence: an agent can show signs on purpose.
    """

    name = "idle"

    def __init__(self, context: EpisodeContext, seconds: float) -> None:
        self._context = context
        self._seconds = seconds
        self._heard = time.monotonic()
        self.pause: float | None = max(IDLE_SECONDS, seconds)

    def hear(self, sink: Sink) -> Sink:
        """Return `sink` as one whose bytes are signs of life."""

        def take(data: bytes) -> None:
            self._heard = time.monotonic()
            sink(data)

        return take

    def ask(self) -> Verdict | None:
        """Look for the last sign of life."""
        silence = self._silence()
        self.pause = max(IDLE_SECONDS, self._seconds - silence)
        return IDLE if silence >= self._seconds else None

    def _silence(self) -> float:
        """Return how long ago the last sign was, as far as it matters; 0 where nobody can say."""
        now = time.monotonic()
        told = now - self._last_told(now)
        if told < self._seconds:
            return told
        age = self._file_age()
        return min(age, now - self._last_told(now))  # looking at the files has taken its time

    def _last_told(self, now: float) -> float:
        asked = self._context.meter.quiet_since
        return now if asked is None else max(self._heard, asked)

    def _file_age(self) -> float:
        """Return the age of a file that is young enough to be a sign; else the limit itself."""
        paths, moment = self._context.paths, time.time()
        try:
            changed = changed_since(moment - self._seconds, paths.worktree, paths.home)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return 0.0
        if changed is None:
            return self._seconds
        return min(moment - changed, self._seconds - IDLE_SECONDS)


class TurnsQuestion:
    """Has the agent asked its model more often than it may, where no gateway counts that?

    Asked after every line that the program writes. What lines tell is the adapter's to know, and
    a program that keeps the limit by itself is let alone.
    """

    name = "turns"
    pause: float | None = None

    def __init__(self, context: EpisodeContext, reader: Reader) -> None:
        self._most = context.order.agent.max_turns
        self._is_counted_here = gateway_api(context.order.agent) is None
        self._reader = reader

    def ask(self) -> Verdict | None:
        """Look at what the reader knows by now."""
        is_over = self._is_counted_here and self._reader.asked > self._most
        return USED_UP if is_over else None


def used_bytes(*folders: Path) -> int:
    """Return how many bytes the folders take on the disk; 0 when that cannot be found out."""
    command = ("du", "--summarize", "--block-size=1", "--total", "--", *map(str, folders))
    try:
        # It exits with 1 when files vanish while it looks; what it has seen still counts.
        told = subprocess.run(  # noqa: S603  # a fixed program, and paths of our own
            command, capture_output=True, text=True, timeout=DU_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    total = told.stdout.splitlines()[-1:] or ["0\ttotal"]
    return int(total[0].split("\t")[0])


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

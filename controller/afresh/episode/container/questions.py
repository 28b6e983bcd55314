"""The questions whose answers may end an agent early.

Owns when each is asked and what it examines. `watch` ends the agent.
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

# Slightly less than the limit on which the kubelet acts.
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
    message="Raise spec.idleSeconds of the AgentClass, or find with afresh logs where the agent "
    "hangs: it showed no activity for that long.",
)


class DiskQuestion:
    """Has the agent written more than its limit?

    The kubelet checks every ten seconds or less often, and then evicts the whole pod, including the
    runner. The worktree and HOME are measured, as far as they can be read.
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
    """Does a failing provider stop the agent? The program's own retries may take minutes."""

    name = "outage"
    pause: float | None = OUTAGE_SECONDS

    def __init__(self, context: EpisodeContext) -> None:
        self._context = context

    def ask(self) -> Verdict | None:
        """Ask the gateway's meter."""
        fault = self._context.meter.gives_up_for
        return fault_verdict(self._context.order, fault) if fault else None


class IdleQuestion:
    """Is the agent running without doing anything?

    Activity is output, a request to the model under way, or a write to a file of the worktree or
    of HOME. Files are examined only if nothing else was seen for the whole time. This is no defence
    against a hostile agent, which can produce activity on purpose.
    """

    name = "idle"

    def __init__(self, context: EpisodeContext, seconds: float) -> None:
        self._context = context
        self._seconds = seconds
        self._heard = time.monotonic()
        self.pause: float | None = max(IDLE_SECONDS, seconds)

    def hear(self, sink: Sink) -> Sink:
        """Return a sink that passes bytes to `sink` and counts them as activity."""

        def take(data: bytes) -> None:
            self._heard = time.monotonic()
            sink(data)

        return take

    def ask(self) -> Verdict | None:
        """Look for the last activity."""
        silence = self._silence()
        self.pause = max(IDLE_SECONDS, self._seconds - silence)
        return IDLE if silence >= self._seconds else None

    def _silence(self) -> float:
        """Return how many seconds ago the last activity was; 0 if that cannot be determined."""
        now = time.monotonic()
        silence = now - self._last_sign(now)
        if silence < self._seconds:
            return silence
        age = self._file_age()
        return min(age, now - self._last_sign(now))  # examining the files took time

    def _last_sign(self, now: float) -> float:
        asked = self._context.meter.quiet_since
        return now if asked is None else max(self._heard, asked)

    def _file_age(self) -> float:
        """Return the age in seconds of a recently changed file; the limit if there is none."""
        paths, moment = self._context.paths, time.time()
        try:
            changed = changed_since(moment - self._seconds, paths.worktree, paths.home)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return 0.0
        if changed is None:
            return self._seconds
        return min(moment - changed, self._seconds - IDLE_SECONDS)


class TurnsQuestion:
    """Has the agent exceeded its turn limit, in a mode where no gateway counts the requests?

    Asked after every line that the program writes. The adapter's reader counts the turns in those
    lines. A program that keeps the limit by itself is not interrupted.
    """

    name = "turns"
    pause: float | None = None

    def __init__(self, context: EpisodeContext, reader: Reader) -> None:
        self._most = context.order.agent.max_turns
        self._is_counted_here = gateway_api(context.order.agent) is None
        self._reader = reader

    def ask(self) -> Verdict | None:
        """Compare the reader's count with the limit."""
        is_over = self._is_counted_here and self._reader.asked > self._most
        return USED_UP if is_over else None


def used_bytes(*folders: Path) -> int:
    """Return how many bytes the folders take on disk; 0 if that cannot be determined."""
    command = ("du", "--summarize", "--block-size=1", "--total", "--", *map(str, folders))
    try:
        # It exits with 1 if files vanish meanwhile; the sum of the others is still printed.
        done = subprocess.run(  # noqa: S603  # a fixed program, and paths of our own
            command, capture_output=True, text=True, timeout=DU_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    total = done.stdout.splitlines()[-1:] or ["0\ttotal"]
    return int(total[0].split("\t")[0])


def changed_since(moment: float, *folders: Path) -> float | None:
    """Return when a file below the folders was changed after `moment`; None if none was.

    Times are seconds since the epoch. The inode's change time is used, which no program can set.
    The search ends with the first such file. Raises OSError, ValueError or TimeoutExpired.
    """
    newer = ("-newerct", f"@{moment:.3f}", "-printf", "%C@\n", "-quit")
    command = ("find", *map(str, folders), *newer)
    # It exits with 1 if files vanish meanwhile or cannot be read.
    done = subprocess.run(  # noqa: S603  # a fixed program, and paths of our own
        command, capture_output=True, text=True, timeout=FIND_SECONDS, check=False
    )
    first = done.stdout.partition("\n")[0]
    return float(first) if first else None

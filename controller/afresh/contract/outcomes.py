"""The outcome table: the consequences of each way in which an episode can end (design, section 3).

One row per outcome. `core.history.classify` finds the outcome; this module does not know how.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from afresh.contract.words import Marker, Outcome


class NextStep(StrEnum):
    """What the loop does with the subtask after an outcome."""

    DONE = "Done"
    REVIEW = "Review"  # a person decides
    RETRY = "Retry"  # a fresh agent, at once
    BACKOFF = "Backoff"  # a fresh agent, later
    PROBE = "Probe"  # the package stalls; at intervals, one episode tries again
    STOP = "Stop"  # the package fails until a limit is raised


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRow:
    """The consequences of one outcome.

    `counts`: it is a failure of the subtask. `by_container`: if the way in which the agent's
    container ended explains more, that outcome replaces this one. `of_provider`: the model's
    provider causes it, and the gate of the credential closes. `stalls`: a person has to correct
    something; until then the package is Stalled and probes at intervals.
    """

    next: NextStep
    counts: bool = False
    by_container: bool = False
    of_provider: bool = False
    stalls: bool = False

    def marker_of_failure(self, *, is_last_chance: bool) -> Marker | None:
        """Return the marker in the plan of a subtask that is not done; None: it stays pending."""
        if self.next is NextStep.REVIEW:
            return Marker.NEEDS_REVIEW
        return Marker.SKIPPED if self.counts and is_last_chance else None


TABLE: dict[Outcome, OutcomeRow] = {
    Outcome.SUCCESS: OutcomeRow(next=NextStep.DONE),
    Outcome.NO_CHANGES: OutcomeRow(next=NextStep.RETRY, counts=True, by_container=True),
    Outcome.BLOCKED: OutcomeRow(next=NextStep.REVIEW),
    Outcome.OUT_OF_SCOPE: OutcomeRow(next=NextStep.REVIEW),
    Outcome.VERIFY_FAILED: OutcomeRow(next=NextStep.RETRY, counts=True, by_container=True),
    Outcome.AGENT_ERROR: OutcomeRow(next=NextStep.RETRY, counts=True, by_container=True),
    Outcome.NO_RESULT: OutcomeRow(next=NextStep.RETRY, counts=True, by_container=True),
    Outcome.TURN_LIMIT: OutcomeRow(next=NextStep.RETRY, counts=True),
    Outcome.TIMEOUT: OutcomeRow(next=NextStep.RETRY, counts=True),
    Outcome.CONTEXT_EXHAUSTED: OutcomeRow(next=NextStep.RETRY, counts=True),
    Outcome.OUT_OF_MEMORY: OutcomeRow(next=NextStep.RETRY, counts=True),
    Outcome.PROCESS_LIMIT: OutcomeRow(next=NextStep.RETRY, counts=True, by_container=True),
    Outcome.DISK_FULL: OutcomeRow(next=NextStep.RETRY, counts=True, by_container=True),
    Outcome.TRANSIENT: OutcomeRow(next=NextStep.BACKOFF, of_provider=True),
    Outcome.MODEL_SILENT: OutcomeRow(next=NextStep.BACKOFF, of_provider=True, stalls=True),
    Outcome.INFRASTRUCTURE: OutcomeRow(next=NextStep.BACKOFF, by_container=True),
    Outcome.AUTH: OutcomeRow(next=NextStep.PROBE, stalls=True),
    Outcome.CONFIG: OutcomeRow(next=NextStep.PROBE, stalls=True),
    Outcome.BRANCH_IN_USE: OutcomeRow(next=NextStep.PROBE, stalls=True),
    Outcome.BUDGET_EXCEEDED: OutcomeRow(next=NextStep.STOP),
    Outcome.CONFLICT: OutcomeRow(next=NextStep.RETRY),
    Outcome.CANCELLED: OutcomeRow(next=NextStep.RETRY),
}

# If several outcomes apply, the first of these counts. Success and Conflict are not in the list:
# Success has its own conditions, and a Conflict is found only after everything else has succeeded.
# BranchInUse is found before everything else, or after it.
PRECEDENCE: tuple[Outcome, ...] = (
    Outcome.CANCELLED,
    Outcome.BUDGET_EXCEEDED,
    Outcome.AUTH,
    Outcome.CONFIG,
    Outcome.TRANSIENT,
    Outcome.MODEL_SILENT,
    Outcome.OUT_OF_SCOPE,
    Outcome.BLOCKED,
    Outcome.TIMEOUT,
    Outcome.TURN_LIMIT,
    Outcome.CONTEXT_EXHAUSTED,
    Outcome.OUT_OF_MEMORY,
    Outcome.PROCESS_LIMIT,
    Outcome.DISK_FULL,
    Outcome.AGENT_ERROR,
    Outcome.VERIFY_FAILED,
    Outcome.NO_CHANGES,
    Outcome.NO_RESULT,
    Outcome.INFRASTRUCTURE,
)

# A model may be silent because of this agent's requests: after this many times in a row, the
# package stalls instead of only waiting.
MOST_SILENCES = 3

BACKOFF_CAP = timedelta(seconds=300)
# If a wait for an external cause lasts longer than this, a person is needed, and tries become rare
# (C6).
WAIT_BOUND = timedelta(hours=1)
SLOW_PAUSE = timedelta(minutes=15)
PROBE_SECONDS = 30
# The longest limit of a provider lasts a month.
LONGEST_RESET = timedelta(days=32)


def backoff_after(failures: int) -> timedelta:
    """Return the wait after `failures` uncounted failures in a row: 2^n s, at most 300 s (S4-4)."""
    return min(timedelta(seconds=2 ** min(failures, 10)), BACKOFF_CAP)


def is_overdue(since: datetime | None, now: datetime) -> bool:
    """Whether a wait that began at `since` has lasted so long that a person is needed."""
    return since is not None and now - since >= WAIT_BOUND


def slower(pause: timedelta, since: datetime | None, now: datetime) -> timedelta:
    """Return the pause before the next try of a wait that began at `since`."""
    return max(pause, SLOW_PAUSE) if is_overdue(since, now) else pause


def reset_of(seconds: float | None, now: datetime) -> datetime | None:
    """Return when a provider's limit ends; None if that is not a plausible time.

    `seconds` since the epoch come from a Report, whose writer may be older or wrong.
    """
    if seconds is None or not abs(seconds - now.timestamp()) <= LONGEST_RESET.total_seconds():
        return None
    return datetime.fromtimestamp(seconds, tz=now.tzinfo)


def whole_second(time: datetime) -> datetime:
    """Return `time` rounded up to a whole second: statuses have no fractions."""
    return time.replace(microsecond=0) + timedelta(seconds=1 if time.microsecond else 0)


def probe_after(failures: int) -> timedelta:
    """Return the wait before a stalled package probes: 30 s, doubled each time, at most 300 s."""
    return min(timedelta(seconds=PROBE_SECONDS * 2 ** min(failures - 1, 10)), BACKOFF_CAP)

"""The outcome table: what follows from each way in which an episode can end (design, section 3).

One row per outcome. Knows nothing of evidence; `core.evidence` finds the outcome.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from afresh.contract.words import Outcome


class Next(StrEnum):
    """What the loop does with the subtask after an outcome."""

    DONE = "Done"
    REVIEW = "Review"  # a person decides
    RETRY = "Retry"  # a fresh agent, at once
    BACKOFF = "Backoff"  # a fresh agent, later
    PROBE = (
        "Probe"  # the package stalls; one episode now and then finds out whether it is corrected
    )
    STOP = "Stop"  # the package fails until a limit is raised


@dataclass(frozen=True, slots=True)
class Row:
    """What follows: the next step, and whether the outcome counts as a failure of the subtask."""

    next: Next
    counts: bool = False


TABLE: dict[Outcome, Row] = {
    Outcome.SUCCESS: Row(Next.DONE),
    Outcome.NO_CHANGES: Row(Next.RETRY, counts=True),
    Outcome.BLOCKED: Row(Next.REVIEW),
    Outcome.OUT_OF_SCOPE: Row(Next.REVIEW),
    Outcome.VERIFY_FAILED: Row(Next.RETRY, counts=True),
    Outcome.AGENT_ERROR: Row(Next.RETRY, counts=True),
    Outcome.NO_RESULT: Row(Next.RETRY, counts=True),
    Outcome.TURN_LIMIT: Row(Next.RETRY, counts=True),
    Outcome.TIMEOUT: Row(Next.RETRY, counts=True),
    Outcome.CONTEXT_EXHAUSTED: Row(Next.RETRY, counts=True),
    Outcome.OUT_OF_MEMORY: Row(Next.RETRY, counts=True),
    Outcome.PROCESS_LIMIT: Row(Next.RETRY, counts=True),
    Outcome.DISK_FULL: Row(Next.RETRY, counts=True),
    Outcome.TRANSIENT: Row(Next.BACKOFF),
    Outcome.MODEL_SILENT: Row(Next.BACKOFF),
    Outcome.INFRASTRUCTURE: Row(Next.BACKOFF),
    Outcome.AUTH: Row(Next.PROBE),
    Outcome.CONFIG: Row(Next.PROBE),
    Outcome.BRANCH_IN_USE: Row(Next.PROBE),
    Outcome.BUDGET_EXCEEDED: Row(Next.STOP),
    Outcome.CONFLICT: Row(Next.RETRY),
    Outcome.CANCELLED: Row(Next.RETRY),
}

# When several outcomes fit, the first of these holds. Success and Conflict are not here: Success
# needs its own conditions, a Conflict is only known once everything else went well, and the branch
# is found to be in use before anything else or after it.
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

# A container's own end can only be the better explanation of these.
EXPLAINED_BY_CONTAINER = frozenset(PRECEDENCE[PRECEDENCE.index(Outcome.OUT_OF_MEMORY) + 1 :])

# What the provider of a model does; a gate closes for all who use the same credential.
OF_THE_PROVIDER = frozenset({Outcome.TRANSIENT, Outcome.MODEL_SILENT})
# What an agent asks for may be what its model is silent about: so often in a row the package goes
# on as if nobody were to blame, then it stalls.
MOST_SILENCES = 3

BACKOFF_CAP = timedelta(seconds=300)
# A wait for something outside that has lasted so long wants a person; it is then tried slowly (C6).
WAIT_BOUND = timedelta(hours=1)
SLOW_PAUSE = timedelta(minutes=15)
PROBE_SECONDS = 30
# The longest limit of a provider is a month's.
LONGEST_RESET = timedelta(days=32)


def backoff_after(failures: int) -> timedelta:
    """Return the wait after `failures` uncounted failures in a row: 2^n s, at most 300 s (S4-4)."""
    return min(timedelta(seconds=2 ** min(failures, 10)), BACKOFF_CAP)


def is_overdue(since: datetime | None, now: datetime) -> bool:
    """Whether a wait that began at `since` has lasted longer than waits may without a person."""
    return since is not None and now - since >= WAIT_BOUND


def slower(pause: timedelta, since: datetime | None, now: datetime) -> timedelta:
    """Return the pause before the next try of a wait that began at `since`."""
    return max(pause, SLOW_PAUSE) if is_overdue(since, now) else pause


def reset_of(seconds: float | None, now: datetime) -> datetime | None:
    """Return when a provider's limit ends; None where that is no time to wait for.

    `seconds` since the epoch come from a Report, whose writer may be older or wrong.
    """
    if seconds is None or not abs(seconds - now.timestamp()) <= LONGEST_RESET.total_seconds():
        return None
    return datetime.fromtimestamp(seconds, tz=now.tzinfo)


def whole_second(time: datetime) -> datetime:
    """Return the next whole second, or `time` if it is one: statuses keep no fractions."""
    return time.replace(microsecond=0) + timedelta(seconds=1 if time.microsecond else 0)


def probe_after(failures: int) -> timedelta:
    """Return the wait before a stalled package probes: 30 s, doubling to at most 300 s."""
    return min(timedelta(seconds=PROBE_SECONDS * 2 ** min(failures - 1, 10)), BACKOFF_CAP)

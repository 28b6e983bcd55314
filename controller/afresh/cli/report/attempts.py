"""The episodes of one subtask, from the history in its `.status`. Pure.

The history has the last ten attempts; older ones are only in the package's sums. No text here has
a control character.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from afresh.api.phases import SubtaskPhase
from afresh.api.resources import TokenUsage
from afresh.api.subtask import Attempt, Transition
from afresh.cli.printable import plain_line, plain_lines
from afresh.contract.outcomes import TABLE, NextStep
from afresh.contract.words import Outcome


class Ending(StrEnum):
    """What an attempt's outcome meant for the subtask."""

    RUNNING = "Running"
    DONE = "Done"
    FAILED = "Failed"  # it counts towards spec.maxConsecutiveFailures
    HALTED = "Halted"  # a person decides
    UNCOUNTED = "Uncounted"  # a provider, a node, a setting or a person was the cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Tokens by kind."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
        )

    @property
    def all(self) -> int:
        """The sum of all kinds."""
        return self.input + self.output + self.cache_read + self.cache_write


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One attempt; `outcome` and `end` are absent while it runs.

    `work_seconds` are those of setup, agent and acceptance command, where they are known; of a
    batch, whose attempts have the same `job`, they are the last one's alone.
    """

    number: int
    mode: str
    outcome: str
    ending: Ending
    message: str
    summary: str
    job: str
    work_seconds: float | None
    start: datetime | None
    end: datetime | None
    turns: int
    tokens: Tokens
    cost_usd: Decimal | None
    verify_exit_code: int | None
    verify_tail: str
    log_tail: str
    warnings: tuple[str, ...]

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it runs."""
        return (self.end - self.start).total_seconds() if self.start and self.end else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The subtask came into `phase`."""

    at: datetime
    phase: SubtaskPhase
    reason: str


def tried(attempt: Attempt, changes: Iterable[Change], *, led_to_done: bool) -> Tried:
    """Return one attempt of a Subtask's history.

    It starts when the subtask came to its turn, which may be long after its Job was made: a queue
    or others of its batch come first.
    """
    verify = attempt.verify
    return Tried(
        number=attempt.number,
        mode=attempt.context_mode or "",
        outcome=attempt.outcome or "",
        ending=_ending(attempt.outcome, led_to_done),
        message=plain_line(attempt.message),
        summary=plain_line(attempt.summary),
        job=attempt.job_name,
        work_seconds=_work_seconds(attempt.phases),
        start=_began(attempt, changes),
        end=attempt.completion_time,
        turns=attempt.turns,
        tokens=tokens_of(attempt.usage),
        cost_usd=attempt.usage.cost_usd,
        verify_exit_code=verify.exit_code if verify else None,
        verify_tail=plain_lines(verify.tail) if verify else "",
        log_tail=plain_lines(attempt.log_tail),
        warnings=tuple(plain_line(text) for text in attempt.warnings),
    )


def change(transition: Transition) -> Change:
    """Return one change of a Subtask's phase."""
    return Change(
        at=transition.time, phase=transition.to_phase, reason=plain_line(transition.reason)
    )


def tokens_of(usage: TokenUsage) -> Tokens:
    """Return the tokens of a usage."""
    return Tokens(
        input=usage.input_tokens,
        output=usage.output_tokens,
        cache_read=usage.cache_read_tokens,
        cache_write=usage.cache_write_tokens,
    )


def seconds_of(attempts: Iterable[Tried]) -> float:
    """Return how long the attempts that have ended took together."""
    return sum(attempt.seconds or 0 for attempt in attempts)


def overhead_share(attempts: Iterable[Tried]) -> float | None:
    """Return which share of their time was neither setup, agent nor acceptance command (S0-10).

    Goes by the attempts that are known to have had an episode of their own; None without any.
    """
    every = tuple(attempts)
    members = Counter(attempt.job for attempt in every)
    measured = [
        (attempt.seconds, attempt.work_seconds)
        for attempt in every
        if attempt.seconds and attempt.work_seconds is not None and members[attempt.job] == 1
    ]
    whole = sum(seconds for seconds, _ in measured)
    work = sum(min(work, seconds) for seconds, work in measured)
    return 1 - work / whole if whole else None


def _work_seconds(phases: Mapping[str, float]) -> float | None:
    if "agentEnded" not in phases or "prepared" not in phases:
        return None
    verified = phases.get("verified", 0.0) - phases.get("committed", 0.0)
    return phases["agentEnded"] - phases["prepared"] + max(verified, 0.0)


def _began(attempt: Attempt, changes: Iterable[Change]) -> datetime | None:
    made, ended = attempt.start_time, attempt.completion_time
    if made is None:
        return None
    turns = [
        item.at
        for item in changes
        if item.phase is SubtaskPhase.RUNNING
        and item.at >= made
        and (ended is None or item.at <= ended)
    ]
    return min(turns, default=made)


def _ending(outcome: Outcome | None, led_to_done: bool) -> Ending:
    if outcome is None:
        return Ending.RUNNING
    row = TABLE[outcome]
    if led_to_done or row.next is NextStep.DONE:
        return Ending.DONE
    if row.counts:
        return Ending.FAILED
    return Ending.HALTED if row.next in (NextStep.REVIEW, NextStep.STOP) else Ending.UNCOUNTED

"""What a command wants to see, as plain values.

Knows neither the command line nor the cluster, and imports nothing that is slow to import.
"""

from dataclasses import dataclass
from enum import StrEnum

from afresh.cli.requests import Place, Target


class Output(StrEnum):
    """How what is seen is written."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusLook:
    """Where one package, or each of a namespace or of all, stands; `watch`: until it ends."""

    place: Place
    package: str | None = None
    everywhere: bool = False
    watch: bool = False
    output: Output = Output.TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLook:
    """The log of one episode; `follow`: and of those after it, until the package ends."""

    target: Target
    subtask: str | None = None
    attempt: int | None = None
    follow: bool = False
    output: Output = Output.TEXT


class Awaited(StrEnum):
    """What can be waited for: a phase of the package, or that it is gone."""

    PENDING = "Pending"
    QUEUED = "Queued"
    RUNNING = "Running"
    SUSPENDED = "Suspended"
    STALLED = "Stalled"
    AWAITING_APPROVAL = "AwaitingApproval"
    SUCCEEDED = "Succeeded"
    NEEDS_REVIEW = "NeedsReview"
    FAILED = "Failed"
    DELETED = "Deleted"


EXIT_CODES = {
    Awaited.NEEDS_REVIEW: 3,
    Awaited.FAILED: 4,
    Awaited.STALLED: 5,
    Awaited.DELETED: 6,
    Awaited.SUCCEEDED: 7,
    Awaited.SUSPENDED: 8,
}
"""The exit code where a package ends otherwise than it was waited for."""
TIMED_OUT = 124


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitLook:
    """Wait until the package is `awaited`, at most `seconds` (None: any time)."""

    target: Target
    awaited: Awaited = Awaited.SUCCEEDED
    seconds: float | None = None
    output: Output = Output.TEXT

"""The phases, as users see them in `.status.phase`.

What leads from one to another is decided elsewhere.
"""

from enum import StrEnum


class PackagePhase(StrEnum):
    """Where a package stands."""

    PENDING = "Pending"
    QUEUED = "Queued"
    RUNNING = "Running"
    SUSPENDED = "Suspended"
    STALLED = "Stalled"
    AWAITING_APPROVAL = "AwaitingApproval"
    SUCCEEDED = "Succeeded"
    NEEDS_REVIEW = "NeedsReview"
    FAILED = "Failed"


class SubtaskPhase(StrEnum):
    """Where a subtask stands; its marker follows from it."""

    PENDING = "Pending"
    QUEUED = "Queued"
    RUNNING = "Running"
    DONE = "Done"
    NEEDS_REVIEW = "NeedsReview"
    SKIPPED = "Skipped"

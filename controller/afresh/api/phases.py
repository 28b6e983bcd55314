"""The phases, as users see them in `.status.phase`, and why people send work back.

What leads from one phase to another is decided elsewhere.
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


ENDED = frozenset({PackagePhase.SUCCEEDED, PackagePhase.NEEDS_REVIEW, PackagePhase.FAILED})
"""Nothing more happens to such a package by itself."""


class SubtaskPhase(StrEnum):
    """Where a subtask stands; its marker follows from it."""

    PENDING = "Pending"
    QUEUED = "Queued"
    RUNNING = "Running"
    DONE = "Done"
    NEEDS_REVIEW = "NeedsReview"
    SKIPPED = "Skipped"


class RevisionReason(StrEnum):
    """What a person has found in the work that is to be done anew."""

    REJECTED = "Rejected"
    HALLUCINATION = "Hallucination"

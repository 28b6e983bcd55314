"""The phases in `.status.phase`, and the reasons for which people send work back.

The transitions between phases are decided in `core`.
"""

from enum import StrEnum


class PackagePhase(StrEnum):
    """The phase of a package."""

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
"""The phases in which a package does not continue until somebody edits it."""


class SubtaskPhase(StrEnum):
    """The phase of a subtask; it determines the marker."""

    PENDING = "Pending"
    QUEUED = "Queued"
    RUNNING = "Running"
    DONE = "Done"
    NEEDS_REVIEW = "NeedsReview"
    SKIPPED = "Skipped"


class RevisionReason(StrEnum):
    """Why a person asks for a subtask to be done again."""

    REJECTED = "Rejected"
    HALLUCINATION = "Hallucination"

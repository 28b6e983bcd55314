"""The phases in which each reason occurs: data for the reference page of reasons.

The tests run the loop over every small case, and compare the reasons that occur with these tables.
"""

from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.core.reason_table import Subject


def _reasons(names: str) -> frozenset[str]:
    return frozenset(names.split())


OF_PACKAGES: dict[PackagePhase, frozenset[str]] = {
    PackagePhase.PENDING: _reasons(
        "BackingOff BeingDeleted ClassBusy EpisodeNotStarted FirstStart GateClosed "
        "GitUnreachable ImageNotPulled NoCapacity PlanBehind"
    ),
    PackagePhase.QUEUED: _reasons("BeingDeleted EpisodeQueued"),
    PackagePhase.RUNNING: _reasons("BeingDeleted EpisodeRunning"),
    PackagePhase.SUSPENDED: _reasons("BeingDeleted Suspended"),
    PackagePhase.STALLED: _reasons(
        "AboveCeiling AgentClassNotFound Auth BackingOff BeingDeleted BranchInUse Config "
        "EpisodeNotStarted GateClosed GitUnreachable ImageNotAllowed ImageNotPulled "
        "InvalidSpec ModelSilent NeverFits NotSupported OrderTooLarge StartRefused "
        "UnpricedModel"
    ),
    PackagePhase.SUCCEEDED: _reasons("BeingDeleted Succeeded"),
    PackagePhase.NEEDS_REVIEW: _reasons("BeingDeleted NeedsReview"),
    PackagePhase.FAILED: _reasons("BeingDeleted BudgetExceeded EpisodeLimit"),
}

OF_SUBTASKS: dict[SubtaskPhase, frozenset[str]] = {
    SubtaskPhase.PENDING: _reasons(
        "AgentError Auth BranchInUse BudgetExceeded Cancelled Config Conflict "
        "ContextExhausted DiskFull Infrastructure ModelSilent NoChanges NoResult "
        "OutOfMemory ProcessLimit Timeout Transient TurnLimit VerifyFailed Waiting"
    ),
    SubtaskPhase.QUEUED: _reasons("Auth Cancelled Config EpisodeQueued ModelSilent Waiting"),
    SubtaskPhase.RUNNING: _reasons("Auth Cancelled Config EpisodeRunning ModelSilent"),
    SubtaskPhase.DONE: _reasons("NoChanges Verified"),
    SubtaskPhase.NEEDS_REVIEW: _reasons("Blocked CommitMissing OutOfScope"),
    SubtaskPhase.SKIPPED: _reasons("Removed SkippedByUser TooManyFailures"),
}


def phases_of(reason: str, subject: Subject) -> list[str]:
    """Return the phases in which `subject` has the reason, in the order of its lifetime."""
    if subject is Subject.EPISODE:
        return []
    table = OF_PACKAGES if subject is Subject.PACKAGE else OF_SUBTASKS
    order = [str(phase) for phase in PackagePhase]
    found = [str(phase) for phase, reasons in table.items() if reason in reasons]
    return sorted(found, key=lambda name: (order.index(name) if name in order else 99, name))

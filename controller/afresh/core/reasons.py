"""Every reason that a condition, a record or an Event can carry. Values are what users see."""

from enum import StrEnum


class Reason(StrEnum):
    """Why a package or a subtask is in its phase. Outcomes of episodes are reasons, too."""

    # of a package
    INVALID_SPEC = "InvalidSpec"
    AGENT_CLASS_NOT_FOUND = "AgentClassNotFound"
    BRANCH_IN_USE = "BranchInUse"
    IMAGE_NOT_ALLOWED = "ImageNotAllowed"
    NOT_SUPPORTED = "NotSupported"
    ABOVE_CEILING = "AboveCeiling"
    ORDER_TOO_LARGE = "OrderTooLarge"
    START_REFUSED = "StartRefused"
    BEING_DELETED = "BeingDeleted"
    SUSPENDED = "Suspended"
    EPISODE_RUNNING = "EpisodeRunning"
    EPISODE_QUEUED = "EpisodeQueued"
    EPISODE_NOT_STARTED = "EpisodeNotStarted"
    BACKING_OFF = "BackingOff"
    GATE_CLOSED = "GateClosed"
    CLASS_BUSY = "ClassBusy"
    FIRST_START = "FirstStart"
    NO_CAPACITY = "NoCapacity"
    IMAGE_NOT_PULLED = "ImageNotPulled"
    NEVER_FITS = "NeverFits"
    GIT_UNREACHABLE = "GitUnreachable"
    UNPRICED_MODEL = "UnpricedModel"
    BUDGET_EXCEEDED = "BudgetExceeded"
    PLAN_BEHIND = "PlanBehind"
    EPISODE_LIMIT = "EpisodeLimit"
    SUCCEEDED = "Succeeded"
    NEEDS_REVIEW = "NeedsReview"
    # of a subtask
    WAITING = "Waiting"
    VERIFIED = "Verified"
    COMMIT_MISSING = "CommitMissing"
    TOO_MANY_FAILURES = "TooManyFailures"
    SKIPPED_BY_USER = "SkippedByUser"
    REMOVED = "Removed"

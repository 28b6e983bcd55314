"""The table of reasons: which objects each applies to, when it appears, and what to do about it.

One row per value of `Reason` and of `Outcome`; the page docs/reference/reasons.md is generated from
it. No decision depends on it.
"""

from dataclasses import dataclass
from enum import StrEnum


class Subject(StrEnum):
    """What a reason can apply to."""

    PACKAGE = "package"
    SUBTASK = "subtask"
    EPISODE = "episode"  # the outcome in `.status.attempts` of a Subtask, and of an Event


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """One reason. `when` and `remedy` are sentences; `remedy` says what a person does about it."""

    reason: str
    of: frozenset[Subject]
    when: str
    remedy: str


_PACKAGE = frozenset({Subject.PACKAGE})
_SUBTASK = frozenset({Subject.SUBTASK})
_BOTH = _PACKAGE | _SUBTASK
_EPISODE = frozenset({Subject.EPISODE})
_ENDED = _SUBTASK | _EPISODE
_ALL = _PACKAGE | _ENDED

_NOTHING = "Nothing."
_LOOK = (
    "Read the attempt in `kubectl describe st`. Add guidance (`afresh guide`), or change the "
    "prompt or the acceptance command and raise the revision."
)

# One row per reason reads better than one line per argument.
# fmt: off
_ABOUT_PACKAGES = (
    ReasonRow("InvalidSpec", _PACKAGE,
        "The package cannot be read, two ids differ only in case, or subtasks depend on each other "
        "in a circle.",
        "Correct what the message names."),
    ReasonRow("AgentClassNotFound", _PACKAGE,
        "There is no AgentClass with the name in `spec.agentClassName`.",
        "Correct the name, or have the class created."),
    ReasonRow("BranchInUse", _ALL,
        "An older package of the namespace works on the same branch of the same repository, or the "
        "branch contains commits of a package of another namespace. Such a branch is checked again "
        "after 30, 60 ... at most 300 s.",
        "Wait for the other package, delete or suspend it before it starts, or create this one "
        "again with another `spec.repository.branch`."),
    ReasonRow("ImageNotAllowed", _PACKAGE,
        "`spec.image` or a `verify.image` is neither the class's image nor matched by its "
        "`allowedImages`.",
        "Use the class's image, or have `allowedImages` of the class extended."),
    ReasonRow("NotSupported", _PACKAGE,
        "The package or its class sets a field that this version does not support.",
        "Change the field as the message says."),
    ReasonRow("AboveCeiling", _PACKAGE,
        "The package asks for more memory, CPU, disk or processes than its class allows.",
        "Lower the field that the message names, or have `ceilings` of the class raised."),
    ReasonRow("OrderTooLarge", _PACKAGE,
        "The Order of the next episode is over 200 KiB.",
        "Shorten the prompt, the guidance or the goal."),
    ReasonRow("StartRefused", _PACKAGE,
        "The API server refused an object that the next episode needs: because of a quota or an "
        "admission policy, because a webhook is down, or because another object has its name. One "
        "Job waits, or its creation is tried again after 2, 4, 8 ... at most 300 s, and for a "
        "quota also when an episode of the namespace ends; the other packages wait.",
        "Correct the cause that the message quotes."),
    ReasonRow("BeingDeleted", _PACKAGE,
        "The package has been deleted and its episodes are being stopped.",
        _NOTHING),
    ReasonRow("Suspended", _PACKAGE,
        "`spec.suspend` is true and no episode runs.",
        "Set it to false to continue (`afresh resume`)."),
    ReasonRow("EpisodeQueued", _BOTH,
        "The Job is suspended: its Kueue queue has not admitted it.",
        "Nothing. If it stays, look at the LocalQueue named by `spec.queueName` and its quota."),
    ReasonRow("EpisodeNotStarted", _PACKAGE,
        "The Job was created, but its pod was not created or not scheduled; the message quotes the "
        "cluster. After an hour the package is `Stalled`; it continues by itself when the pod "
        "starts. Or the package is new, and its many Subtasks are being created.",
        "Nothing at first. If it stays, correct the cause that the message quotes."),
    ReasonRow("BackingOff", _PACKAGE,
        "A provider, a node or the repository's host failed, and the next episode waits 2, 4, 8 "
        "... at most 300 s, or until the provider's reset time. If all episodes of an hour end in "
        "this way, the package is `Stalled` and tries every 15 minutes.",
        "Nothing; it continues by itself. If it is stalled, fix the cause that the message names."),
    ReasonRow("GateClosed", _PACKAGE,
        "The provider limits the rate of the package's Secret, is overloaded, or cannot be "
        "reached; the message says which. At intervals, one package tries; all others that use the "
        "Secret wait. After an hour without an answer the packages are `Stalled`, and one of them "
        "tries every 15 minutes.",
        "Nothing; the gate opens by itself."),
    ReasonRow("ClassBusy", _PACKAGE,
        "As many episodes of the AgentClass run as its `maxConcurrentEpisodes` allows.",
        "Nothing. If it stays, have `maxConcurrentEpisodes` raised."),
    ReasonRow("FirstStart", _PACKAGE,
        "Four Jobs of the class with the package's images have been created, and none of their "
        "pods has started yet. Other packages wait until it is known that such pods can start.",
        "Nothing. If it stays, look at the pods that wait."),
    ReasonRow("NoCapacity", _PACKAGE,
        "Ten pods of the class in this namespace wait for room on a node.",
        "Nothing if nodes are added automatically. Otherwise add nodes, or wait until other pods "
        "end."),
    ReasonRow("ImageNotPulled", _PACKAGE,
        "The kubelet cannot pull an image, and its registry may not answer. One Job waits; the "
        "kubelet tries again. After an hour the package is `Stalled`.",
        "Make sure that the registry answers; the packages continue by themselves."),
    ReasonRow("NeverFits", _PACKAGE,
        "The pod does not fit on any node, even an empty one, because of its requests, its node "
        "selector or its tolerations. One Job waits.",
        "Lower the requests, correct the selector or the tolerations in the class, or add a node. "
        "An edit tries at once."),
    ReasonRow("GitUnreachable", _PACKAGE,
        "The git server does not answer. One runner without an agent tries it after 2, 4, 8 ... at "
        "most 300 s, for all packages of the repository. After an hour the package is `Stalled`, "
        "and the runner tries every 15 minutes.",
        "Make sure that the git server answers; the packages continue by themselves."),
    ReasonRow("UnpricedModel", _PACKAGE,
        "`spec.budget.maxCostUSD` is set and the class has no price for its model.",
        "Have the model added to `pricing` of the class, or use `maxTokens` instead."),
    ReasonRow("PlanBehind", _PACKAGE,
        "The plan on the branch differs from the status; a runner without an agent updates it.",
        _NOTHING),
    ReasonRow("EpisodeLimit", _PACKAGE,
        "As many episodes have run as `spec.maxEpisodes` allows, and there is more to do.",
        "Find out what took so many episodes; then raise `spec.maxEpisodes`."),
    ReasonRow("Succeeded", _PACKAGE,
        "Every subtask is done, or skipped by its user.",
        "Nothing. Review the branch and merge it."),
    ReasonRow("NeedsReview", _PACKAGE,
        "No subtask can run and at least one is `[!]` or `[S]`, or an agent left its scope.",
        "Read `.status.reviews` (`afresh report`). For each, add guidance, edit or skip the "
        "subtask, or raise its revision."),
)

_ABOUT_SUBTASKS = (
    ReasonRow("EpisodeRunning", _BOTH, "An agent works on it.", _NOTHING),
    ReasonRow("Waiting", _SUBTASK,
        "It is new or to be done again, and has not started: other subtasks come first in the list "
        "or in its batch, or a subtask on which it depends is not done.",
        "Nothing. If it stays, look at the subtasks in its `dependsOn`."),
    ReasonRow("Verified", _SUBTASK,
        "The acceptance command passed and the commit is on the branch.",
        _NOTHING),
    ReasonRow("CommitMissing", _SUBTASK,
        "It was recorded as done, but the repository has no commit for it: the branch was changed, "
        "or the episode's Report was forged.",
        "Find out who changed the branch, or who may create pods in the namespace. Raise the "
        "revision to have it done again; or restore the commit and skip the subtask."),
    ReasonRow("TooManyFailures", _SUBTASK,
        "It failed `spec.maxConsecutiveFailures` times in a row. Subtasks that depend on it do not "
        "start; the others continue.",
        _LOOK),
    ReasonRow("SkippedByUser", _SUBTASK,
        "Its `skip` is true. Subtasks that depend on it can start.",
        "Nothing. Set `skip` to false to have it done."),
    ReasonRow("Removed", _SUBTASK,
        "It is no longer in `spec.subtasks`. The package's record keeps it, so that no attempt "
        "number is used twice.",
        _NOTHING),
)

_COUNTED = " It counts as a failure, and a fresh agent tries."

_OUTCOMES = (
    ReasonRow("Success", _EPISODE,
        "The episode ended well; its subtask is then `Verified`.",
        _NOTHING),
    ReasonRow("NoChanges", _ENDED,
        "The agent changed nothing. If the acceptance command passes and the agent said why "
        "nothing is needed, the subtask is done; otherwise it counts as a failure, and a fresh "
        "agent tries.",
        "Nothing if it is done. Otherwise check that the prompt describes a change."),
    ReasonRow("Blocked", _ENDED,
        "The agent reported that it cannot or may not continue; the message quotes it. Other "
        "subtasks continue.",
        "Answer its question with `afresh guide`, or skip the subtask."),
    ReasonRow("OutOfScope", _ENDED,
        "The agent changed a file outside `files`, added more than `maxNewFiles`, or left a nested "
        "repository. The package halts; the work is not on the branch.",
        "Widen `files` or `maxNewFiles`, or add guidance; then raise the revision. Or skip it."),
    ReasonRow("VerifyFailed", _ENDED,
        "The acceptance command did not exit with 0 on the agent's commit." + _COUNTED,
        _LOOK),
    ReasonRow("AgentError", _ENDED,
        "The agent program ended with an error." + _COUNTED,
        "Read the end of its log in `kubectl describe st`."),
    ReasonRow("NoResult", _ENDED,
        "The agent program ended without a result." + _COUNTED,
        "Read the end of its log in `kubectl describe st`."),
    ReasonRow("TurnLimit", _ENDED,
        "The model answered `spec.episode.maxTurns` times." + _COUNTED,
        "Make the subtask smaller, or raise `spec.episode.maxTurns`."),
    ReasonRow("Timeout", _ENDED,
        "The agent ran for `spec.episode.timeoutSeconds`, or showed no sign of life for "
        "`idleSeconds` of the AgentClass; the message says which." + _COUNTED,
        "Make the subtask smaller, or raise the limit that the message names."),
    ReasonRow("ContextExhausted", _ENDED,
        "The agent filled its model's context window." + _COUNTED,
        "Make the subtask smaller, or name the files that it needs."),
    ReasonRow("OutOfMemory", _ENDED,
        "The agent used more memory than its limit." + _COUNTED,
        "Raise `spec.resources.limits.memory`, or make the subtask smaller."),
    ReasonRow("ProcessLimit", _ENDED,
        "The agent reached its limit on processes." + _COUNTED,
        "Raise `spec.pidsLimit`, or have its commands run fewer processes."),
    ReasonRow("DiskFull", _ENDED,
        "The episode used more disk than its limit." + _COUNTED,
        "Raise `ephemeral-storage` in `spec.resources.limits`."),
    ReasonRow("Transient", _ENDED,
        "The model's provider limited the rate, was overloaded or could not be reached. It does "
        "not count as a failure.",
        "Nothing; it continues by itself."),
    ReasonRow("ModelSilent", _ALL,
        "The model accepted a request and sent nothing for `modelSilenceSeconds` of the "
        "AgentClass. It does not count as a failure; after three in a row the package is stalled, "
        "and tries again after 30, 60 ... at most 300 s.",
        "Check that the model's endpoint works. Have `modelSilenceSeconds` raised if it is slow; "
        "`afresh retry` tries at once."),
    ReasonRow("Infrastructure", _ENDED,
        "The pod was lost: a node, an eviction, an image pull, a deadline before the agent ran, or "
        "a repository that cannot be reached. It does not count as a failure.",
        "Nothing at first. If it repeats, correct the cause that the message names."),
    ReasonRow("Auth", _ALL,
        "A key or a password is missing or refused: the model's, or the repository's. The package "
        "is stalled and tries again after 30, 60 ... at most 300 s.",
        "Correct the Secret that the message names; `afresh retry` tries at once."),
    ReasonRow("Config", _ALL,
        "An image, a Secret's key, the setup command or the repository's address is wrong. The "
        "package is stalled and tries again after 30, 60 ... at most 300 s.",
        "Correct what the message names; an edit or `afresh retry` tries at once. To change `url`, "
        "`baseRef` or `branch`, create a new package."),
    ReasonRow("BudgetExceeded", _ALL,
        "`spec.budget` is used up.",
        "Find out what used so much; then raise `spec.budget`."),
    ReasonRow("Conflict", _ENDED,
        "Somebody else pushed to the branch, and the work does not apply to the new head. It "
        "does not count as a failure; a fresh agent works from the new head.",
        "Nothing. If it repeats, make sure that nobody else pushes there while the package runs."),
    ReasonRow("Cancelled", _ENDED,
        "The operator stopped the episode: `afresh cancel`, a removed subtask or a deleted "
        "package. It does not count as a failure.",
        _NOTHING),
)
# fmt: on

ROWS: tuple[ReasonRow, ...] = (*_ABOUT_PACKAGES, *_ABOUT_SUBTASKS, *_OUTCOMES)

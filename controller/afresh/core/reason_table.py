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
        "There is no AgentClass of the name in `spec.agentClassName`.",
        "Correct the name, or have the class created."),
    ReasonRow("BranchInUse", _ALL,
        "An older package of the namespace works on the same branch of the same repository, or the "
        "branch carries commits of a package of another namespace. For those it is looked again "
        "after 30, 60 ... at most 300 s.",
        "Wait for the other package, delete or suspend it before it starts, or make this one anew "
        "with another `spec.repository.branch`."),
    ReasonRow("ImageNotAllowed", _PACKAGE,
        "`spec.image` or a `verify.image` is neither the class's image nor matched by its "
        "`allowedImages`.",
        "Use the class's image, or have `allowedImages` of the class extended."),
    ReasonRow("NotSupported", _PACKAGE,
        "The package or its class sets a field that this version does not act on.",
        "Do what the message says with that field."),
    ReasonRow("AboveCeiling", _PACKAGE,
        "The package asks for more memory, CPU, disk or processes than its class allows.",
        "Lower the field that the message names, or have `ceilings` of the class raised."),
    ReasonRow("OrderTooLarge", _PACKAGE,
        "What the next episode is told is over 200 KiB.",
        "Shorten the prompt, the guidance or the goal."),
    ReasonRow("StartRefused", _PACKAGE,
        "The API server did not take an object that the next episode needs: a quota or an "
        "admission policy refused it, a webhook is down, or something else has its name. One Job "
        "waits or is asked for again after 2, 4, 8 ... at most 300 s, of a quota also when an "
        "episode of the namespace ends; the other packages wait.",
        "Correct what the message quotes."),
    ReasonRow("BeingDeleted", _PACKAGE,
        "The package has been deleted and its episodes are being stopped.",
        _NOTHING),
    ReasonRow("Suspended", _PACKAGE,
        "`spec.suspend` is true and nothing runs any more.",
        "Set it to false to go on (`afresh resume`)."),
    ReasonRow("EpisodeQueued", _BOTH,
        "The Job is suspended: its Kueue queue has not admitted it.",
        "Nothing. If it stays, look at the LocalQueue named by `spec.queueName` and its quota."),
    ReasonRow("EpisodeNotStarted", _PACKAGE,
        "The Job has been made and its pod is not made or not scheduled; the message has the "
        "cluster's own words. After an hour the package is `Stalled`; it goes on by itself. Or the "
        "package is new, and its many Subtasks are being made.",
        "Nothing if it passes; else give the cluster what the message asks for."),
    ReasonRow("BackingOff", _PACKAGE,
        "A provider, a node or the repository's host failed, and the next episode waits 2, 4, 8 "
        "... at most 300 s, or till the provider's reset time. After an hour without an episode "
        "that ended otherwise the package is `Stalled`, and tries every 15 minutes.",
        "Nothing; it goes on by itself. Where it is stalled, fix what the message names."),
    ReasonRow("GateClosed", _PACKAGE,
        "The provider limits the rate of the package's Secret, is overloaded, or cannot be "
        "reached; the message says which. Now and then one package tries; all others that use the "
        "Secret wait. After an hour without an answer the package is `Stalled`, and one tries "
        "every 15 minutes.",
        "Nothing; the gate opens by itself."),
    ReasonRow("ClassBusy", _PACKAGE,
        "As many episodes of the AgentClass run as its `maxConcurrentEpisodes` allows.",
        "Nothing. If it lasts, have `maxConcurrentEpisodes` raised."),
    ReasonRow("FirstStart", _PACKAGE,
        "Four Jobs of the class with the package's images have been made, and the pod of none has "
        "started yet. The others wait to see whether such pods can start at all.",
        "Nothing. If it lasts, look at the pods that wait."),
    ReasonRow("NoCapacity", _PACKAGE,
        "Ten pods of the class wait for room on a node in this namespace.",
        "Nothing where nodes are added by themselves. Else add nodes, or let what runs there end."),
    ReasonRow("ImageNotPulled", _PACKAGE,
        "The kubelet cannot pull an image, and its registry may not answer. One Job waits; the "
        "kubelet tries again. After an hour the package is `Stalled`.",
        "See that the registry answers; the packages go on by themselves."),
    ReasonRow("NeverFits", _PACKAGE,
        "No node could ever hold the pod, were it empty: by its requests, its node selector or its "
        "tolerations. One Job waits.",
        "Lower the requests, correct the selector or the tolerations in the class, or add a node. "
        "An edit tries at once."),
    ReasonRow("GitUnreachable", _PACKAGE,
        "The git server does not answer. One runner without an agent asks it after 2, 4, 8 ... at "
        "most 300 s, for all packages of the repository. After an hour the package is `Stalled`, "
        "and it is asked every 15 minutes.",
        "See that the git server answers; the packages go on by themselves."),
    ReasonRow("UnpricedModel", _PACKAGE,
        "`spec.budget.maxCostUSD` is set and the class has no price for its model.",
        "Have the model added to `pricing` of the class, or use `maxTokens` instead."),
    ReasonRow("PlanBehind", _PACKAGE,
        "The plan on the branch differs from the status; a runner without an agent brings it in "
        "line.",
        _NOTHING),
    ReasonRow("EpisodeLimit", _PACKAGE,
        "As many episodes have run as `spec.maxEpisodes` allows, and there is more to do.",
        "Raise `spec.maxEpisodes`, after a look at what took so many."),
    ReasonRow("Succeeded", _PACKAGE,
        "Every subtask is done, or skipped by its user.",
        "Nothing. Review the branch and merge it."),
    ReasonRow("NeedsReview", _PACKAGE,
        "Nothing can run any more and some subtask is `[!]` or `[S]`, or an agent went out of its "
        "scope.",
        "Read `.status.reviews` (`afresh report`). Answer each with guidance, an edit, a skip or a "
        "raised revision."),
)

_ABOUT_SUBTASKS = (
    ReasonRow("EpisodeRunning", _BOTH, "An agent works on it.", _NOTHING),
    ReasonRow("Waiting", _SUBTASK,
        "It is new or asked for again, and has not started: others are before it in the list or in "
        "its batch, or what it depends on is not done.",
        "Nothing. If it stays, look at the subtasks in its `dependsOn`."),
    ReasonRow("Verified", _SUBTASK,
        "The acceptance command passed and the commit is on the branch.",
        _NOTHING),
    ReasonRow("CommitMissing", _SUBTASK,
        "It was recorded as done, and the repository has no commit that did it: the branch was "
        "changed, or somebody else wrote the episode's Report.",
        "See who changed the branch, or who may make pods in the namespace. Raise the revision to "
        "have it done again; or restore the commit and skip the subtask."),
    ReasonRow("TooManyFailures", _SUBTASK,
        "It failed `spec.maxConsecutiveFailures` times in a row. What depends on it does not "
        "start; the others go on.",
        _LOOK),
    ReasonRow("SkippedByUser", _SUBTASK,
        "Its `skip` is true. What depends on it goes on.",
        "Nothing. Set `skip` to false to have it done after all."),
    ReasonRow("Removed", _SUBTASK,
        "It is no longer in `spec.subtasks`. The package's record keeps it, so that no attempt's "
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
        "nothing is needed, the subtask is done; else it counts as a failure, and a fresh agent "
        "tries.",
        "Nothing where it is done. Else see whether the prompt says what is to change."),
    ReasonRow("Blocked", _ENDED,
        "The agent says that it cannot or may not go on; the message has its words. Other subtasks "
        "go on.",
        "Decide what it asks. Say it with `afresh guide`, or skip the subtask."),
    ReasonRow("OutOfScope", _ENDED,
        "The agent changed a file outside `files`, added more than `maxNewFiles`, or left a nested "
        "repository. The package halts; its work is not on the branch.",
        "Widen `files` or `maxNewFiles`, or add guidance; then raise the revision. Or skip it."),
    ReasonRow("VerifyFailed", _ENDED,
        "The acceptance command did not exit with 0 on the agent's commit." + _COUNTED,
        _LOOK),
    ReasonRow("AgentError", _ENDED,
        "The agent's program ended with an error." + _COUNTED,
        "Read the end of its log in `kubectl describe st`."),
    ReasonRow("NoResult", _ENDED,
        "The agent's program ended without saying that it is done." + _COUNTED,
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
        "The agent ran into its limit on processes." + _COUNTED,
        "Raise `spec.pidsLimit`, or have its commands run fewer processes."),
    ReasonRow("DiskFull", _ENDED,
        "The episode used more disk than its limit." + _COUNTED,
        "Raise `ephemeral-storage` in `spec.resources.limits`."),
    ReasonRow("Transient", _ENDED,
        "The model's provider limited the rate, was overloaded or could not be reached. It does "
        "not count as a failure.",
        "Nothing; it goes on by itself."),
    ReasonRow("ModelSilent", _ALL,
        "The model took a request and said nothing for `modelSilenceSeconds` of the AgentClass. It "
        "does not count as a failure; after three in a row the package is stalled, and tries again "
        "after 30, 60 ... at most 300 s.",
        "See whether the model's endpoint works. Have `modelSilenceSeconds` raised if it is slow; "
        "`afresh retry` tries at once."),
    ReasonRow("Infrastructure", _ENDED,
        "The pod was lost: a node, an eviction, an image pull, a deadline before the agent ran, or "
        "a repository that cannot be reached. It does not count as a failure.",
        "Nothing if it passes; else correct what the message names."),
    ReasonRow("Auth", _ALL,
        "A key or a password is missing or refused: the model's, or the repository's. The package "
        "is stalled and tries again after 30, 60 ... at most 300 s.",
        "Correct the Secret that the message names; `afresh retry` tries at once."),
    ReasonRow("Config", _ALL,
        "An image, a Secret's key, the setup command or the repository's address is wrong. The "
        "package is stalled and tries again after 30, 60 ... at most 300 s.",
        "Correct what the message names; an edit or `afresh retry` tries at once. Another `url`, "
        "`baseRef` or `branch` needs the package made anew."),
    ReasonRow("BudgetExceeded", _ALL,
        "`spec.budget` is used up.",
        "Raise `spec.budget` to go on, after a look at what took so much."),
    ReasonRow("Conflict", _ENDED,
        "Somebody else pushed to the branch and the work does not fit on top. It does not count as "
        "a failure; a fresh agent works from the new head.",
        "Nothing. If it repeats, let nobody else push there while the package runs."),
    ReasonRow("Cancelled", _ENDED,
        "The operator stopped the episode: `afresh cancel`, a removed subtask or a deleted "
        "package. It does not count as a failure.",
        _NOTHING),
)
# fmt: on

ROWS: tuple[ReasonRow, ...] = (*_ABOUT_PACKAGES, *_ABOUT_SUBTASKS, *_OUTCOMES)

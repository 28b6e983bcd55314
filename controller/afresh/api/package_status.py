"""The status of a WorkPackage: what was observed, and the record that decisions rest on."""

from typing import Annotated

from pydantic import AwareDatetime, Field, StrictInt

from afresh.api.conditions import Conditions, Message, Reason, ShortMessage
from afresh.api.meta import ApiModel, ObjectStatus
from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.api.resources import Count, Money, TokenUsage
from afresh.api.rules import MapBy
from afresh.contract.words import Marker, PushRefusal

MAX_SUBTASKS = 200
MAX_REQUEST = 128
COMES_LATER = "Waiting"
"""The reason of a subtask in an episode that is at another one."""


class UsageStatus(TokenUsage):
    """What the package has used so far."""

    episodes: Count = 0
    """Episodes that count against spec.maxEpisodes."""
    transient_retries: Count = 0
    """Episodes that do not, because the cause was temporary."""


class BudgetShare(ApiModel):
    """What an episode was given of the package's budget."""

    max_tokens: Count | None = None
    """Tokens of all kinds."""
    max_cost_usd: Money | None = None
    """US dollars."""


class SubtaskRecord(ApiModel):
    """What is known of one subtask: what decisions rest on."""

    id: str = Field(max_length=20)
    """The subtask."""
    phase: SubtaskPhase = SubtaskPhase.PENDING
    """Where it stands."""
    marker: Marker = Marker.PENDING
    """The same, as the plan shows it."""
    observed_revision: Count = 0
    """The revision that this record is about."""
    attempts: Count = 0
    """The number of the last episode that it was in."""
    not_begun: Count | None = None
    """How many of them ended before they came to it, as those of a batch do; absent: none."""
    consecutive_failures: Count = 0
    """How many of the last ones failed in a row."""
    transient_retries: Count = 0
    """How many of the last ones ended for a temporary cause in a row."""
    silences: Count | None = None
    """How many of the last ones ended because the model said nothing, in a row."""
    insufficient: BudgetShare | None = None
    """What the last one was given of the budget, where that was not enough; none starts with as
    little again."""
    commit: str = Field(default="", max_length=64)
    """The commit that did it."""
    reason: Reason = ""
    """Why, as one CamelCase word."""
    message: ShortMessage = ""
    """Why, as a sentence, with what to do about it."""
    not_before: AwareDatetime | None = None
    """No episode starts before this time."""
    refused: PushRefusal | None = None
    """What the repository's server has refused to take; absent: nothing."""
    kept: Annotated[str, Field(max_length=64)] | None = None
    """Verified work on the subtask's side ref, which could not be pushed to the branch."""
    cost_usd: Money | None = None
    """US dollars so far; absent without a price."""
    rejections: Count = 0
    """How often its revision was raised because a review rejected the work."""
    hallucinations: Count = 0
    """How often it was raised because the work rests on what does not exist."""

    @property
    def attempts_begun(self) -> int:
        """How many episodes have worked on it."""
        comes_later = self.phase is SubtaskPhase.QUEUED and self.reason == COMES_LATER
        return max(self.attempts - (self.not_begun or 0) - comes_later, 0)


class Review(ApiModel):
    """A subtask that waits for a person."""

    id: str = Field(max_length=20)
    """The subtask."""
    reason: Reason = ""
    """Why, as one CamelCase word."""
    message: ShortMessage = ""
    """Why, as a sentence, with what to do about it."""


class PlanSync(ApiModel):
    """How the plan on the branch is brought in line with this status where no episode did it."""

    attempts: Count = 0
    """How many Jobs there were for it; the last one's number."""
    failures: Count = 0
    """How many of the last ones failed in a row."""
    reason: Reason = ""
    """How the last one ended, if it failed."""
    message: ShortMessage = ""
    """The same as a sentence."""
    not_before: AwareDatetime | None = None
    """None starts before this time."""


class SharedWait(ApiModel):
    """A cause that this package meets together with others: one episode tries, the others wait."""

    cause: Reason
    """What it is: ImagePull, NeverFits, Refusal or Repository."""
    key: str = Field(max_length=1300)
    """Of what: an image, a class of refusal, a repository. Packages of one namespace with the same
    cause and key wait for the same thing."""
    since: AwareDatetime
    """When it was first met."""
    until: AwareDatetime
    """When the next episode may try, unless one waits already."""
    step: Count = 0
    """How often in a row it was tried in vain."""
    episode: str = Field(default="", max_length=63)
    """The Job of this package that waits or tries; empty: another package's, or none now."""
    generations: str = Field(default="", max_length=64)
    """The generations of the package and its class for which this holds; after an edit the package
    tries at once."""
    reason: Reason = ""
    """Why, as one CamelCase word."""
    message: Message = ""
    """Why, as a sentence, with what to do about it first."""


class WorkPackageStatus(ObjectStatus):
    """What the operator observed, and the record that its decisions rest on."""

    observed_generation: StrictInt | None = None
    """The generation of the spec that this was concluded from."""
    phase: PackagePhase | None = None
    """Where the package stands. AwaitingApproval is not used yet."""
    conditions: Conditions = ()
    """Ready (True when all is done), Progressing and Stalled."""
    reason: Reason = ""
    """The reason of the condition Ready."""
    progress: str = Field(default="", max_length=16)
    """Subtasks done, of all, such as 2/5."""
    current: str = Field(default="", max_length=1100)
    """The subtasks that run now."""
    start_time: AwareDatetime | None = None
    """When its first episode started."""
    completion_time: AwareDatetime | None = None
    """When nothing was left to do by itself."""
    duration: str = Field(default="", max_length=24)
    """The time between them, such as 1h05m."""
    cost: str = Field(default="", max_length=24)
    """What the episodes cost, such as $0.42; empty without a price."""
    branch: str = Field(default="", max_length=200)
    """The branch that the work goes to."""
    head_commit: str = Field(default="", max_length=64)
    """The last commit that was pushed to it."""
    plan_digest: str = Field(default="", max_length=80)
    """The digest of the plan that was last pushed."""
    plan_sync: PlanSync | None = None
    """How the plan was pushed where no episode did it; absent: that was never needed."""
    programs: tuple[Annotated[str, Field(max_length=16)], ...] = Field(default=(), max_length=32)
    """The hashes of image and program of the acceptance commands whose program was found."""
    push_passed: str = Field(default="", max_length=16)
    """The hash of the repository, branch and Secret with which the server has taken a push."""
    conflicts: tuple[Annotated[str, Field(max_length=80)], ...] = Field(default=(), max_length=8)
    """Paths that subtasks have changed at the same time; an edit of the package clears them.

    Subtasks that may change them run one at a time, those without `files` among them.
    """
    last_handled_cancel: str = Field(default="", max_length=MAX_REQUEST)
    """The value of the annotation afresh.dev/cancel-requested-at that was last acted on."""
    last_handled_retry: str = Field(default="", max_length=MAX_REQUEST)
    """The value of the annotation afresh.dev/retry-requested-at that was last acted on."""
    waiting_since: AwareDatetime | None = None
    """Since when all episodes end for a temporary cause or a wrong setting; absent: the last one
    did not."""
    wait: SharedWait | None = None
    """What keeps the package from starting an episode, if other packages meet it as well."""
    usage: UsageStatus = UsageStatus()
    """What the package has used so far."""
    subtasks: Annotated[tuple[SubtaskRecord, ...], MapBy("id")] = Field(
        default=(), max_length=MAX_SUBTASKS
    )
    """What is known of each subtask."""
    # No map: the server would note an owner of every field of every item, in the object itself.
    reviews: tuple[Review, ...] = Field(default=(), max_length=MAX_SUBTASKS)
    """The subtasks that wait for a person."""

    @property
    def message(self) -> str:
        """The sentence of the condition Ready; empty while there is none."""
        return next((item.message for item in self.conditions if item.type == "Ready"), "")

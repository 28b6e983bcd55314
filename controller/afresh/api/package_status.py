"""The status of a WorkPackage: the observed state, and the record that decisions are based on."""

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
"""The reason of a queued subtask whose episode currently works on another subtask."""


class UsageStatus(TokenUsage):
    """Tokens, cost and episodes that the package has used so far."""

    episodes: Count = 0
    """Episodes that count against spec.maxEpisodes."""
    transient_retries: Count = 0
    """Episodes that do not count against spec.maxEpisodes, because their cause was temporary."""


class BudgetShare(ApiModel):
    """The part of the package's budget that one episode was given."""

    max_tokens: Count | None = None
    """Tokens of all kinds."""
    max_cost_usd: Money | None = None
    """US dollars."""


class SubtaskRecord(ApiModel):
    """The record of one subtask, on which the operator bases its decisions."""

    id: str = Field(max_length=20)
    """The id of the subtask."""
    phase: SubtaskPhase = SubtaskPhase.PENDING
    """The phase of the subtask."""
    marker: Marker = Marker.PENDING
    """The phase as a marker in the plan."""
    observed_revision: Count = 0
    """The revision of the subtask to which this record applies."""
    attempts: Count = 0
    """The number of the last episode that was given the subtask."""
    not_begun: Count | None = None
    """How many of these episodes ended before they began the subtask, as can happen in a batch;
    absent: none."""
    consecutive_failures: Count = 0
    """How many of the last episodes failed in a row."""
    transient_retries: Count = 0
    """How many of the last episodes in a row ended for a temporary cause."""
    silences: Count | None = None
    """How many of the last episodes in a row ended because the model did not answer; absent:
    none."""
    insufficient: BudgetShare | None = None
    """The part of the budget that the last episode was given, if it was not enough. The next
    episode starts only with a larger part."""
    commit: str = Field(default="", max_length=64)
    """The commit with the finished work."""
    reason: Reason = ""
    """Why the subtask is in this phase, as one CamelCase word."""
    message: ShortMessage = ""
    """Why the subtask is in this phase, as a sentence, with what to do about it."""
    not_before: AwareDatetime | None = None
    """No episode starts before this time."""
    refused: PushRefusal | None = None
    """The kind of push that the git server refused; absent: none."""
    kept: Annotated[str, Field(max_length=64)] | None = None
    """The commit on the subtask's side ref: verified work that could not be pushed to the
    branch."""
    cost_usd: Money | None = None
    """The cost so far in US dollars; absent without a price."""
    rejections: Count = 0
    """How many times the revision was raised because a review rejected the work."""
    hallucinations: Count = 0
    """How many times the revision was raised because the work uses something that does not
    exist."""

    @property
    def attempts_begun(self) -> int:
        """How many episodes have begun to work on the subtask."""
        comes_later = self.phase is SubtaskPhase.QUEUED and self.reason == COMES_LATER
        return max(self.attempts - (self.not_begun or 0) - comes_later, 0)


class Review(ApiModel):
    """A subtask that waits for a person."""

    id: str = Field(max_length=20)
    """The id of the subtask."""
    reason: Reason = ""
    """Why the subtask waits, as one CamelCase word."""
    message: ShortMessage = ""
    """Why the subtask waits, as a sentence, with what to do about it."""


class PlanSync(ApiModel):
    """Jobs that only push the plan: they update the plan on the branch where no episode did."""

    attempts: Count = 0
    """How many such Jobs there were; also the number of the last one."""
    failures: Count = 0
    """How many of the last Jobs failed in a row."""
    reason: Reason = ""
    """Why the last Job failed, as one CamelCase word; empty if it did not."""
    message: ShortMessage = ""
    """Why the last Job failed, as a sentence; empty if it did not."""
    not_before: AwareDatetime | None = None
    """No such Job starts before this time."""


class SharedWait(ApiModel):
    """A failure that packages have in common: one episode tries again, the other packages wait."""

    cause: Reason
    """The kind of failure: ImagePull, NeverFits, Refusal or Repository."""
    key: str = Field(max_length=1300)
    """The object that failed: an image, a class of refusal, a repository. Packages of one namespace
    with the same cause and key wait together."""
    since: AwareDatetime
    """When the failure was first observed."""
    until: AwareDatetime
    """When the next episode may try, unless an episode already waits for the same cause."""
    step: Count = 0
    """How many times in a row a try has failed."""
    episode: str = Field(default="", max_length=63)
    """The Job of this package that waits or tries; empty: a Job of another package does, or
    none."""
    generations: str = Field(default="", max_length=64)
    """The generations of the package and its class to which this applies; after an edit the package
    tries at once."""
    reason: Reason = ""
    """Why the package waits, as one CamelCase word."""
    message: Message = ""
    """Why the package waits, as a sentence that begins with what to do about it."""


class WorkPackageStatus(ObjectStatus):
    """The state that the operator observed, and the record that it bases its decisions on."""

    observed_generation: StrictInt | None = None
    """The generation of the spec from which this status was computed."""
    phase: PackagePhase | None = None
    """The phase of the package. AwaitingApproval is not used yet."""
    conditions: Conditions = ()
    """Ready (True when all is done), Progressing and Stalled."""
    reason: Reason = ""
    """The reason of the condition Ready."""
    progress: str = Field(default="", max_length=16)
    """Subtasks done out of all subtasks, such as 2/5."""
    current: str = Field(default="", max_length=1100)
    """The ids of the subtasks that run now."""
    start_time: AwareDatetime | None = None
    """When the first episode of the package started."""
    completion_time: AwareDatetime | None = None
    """When the package ended: no subtask was left that could run without a person."""
    duration: str = Field(default="", max_length=24)
    """The time from startTime to completionTime, such as 1h05m."""
    cost: str = Field(default="", max_length=24)
    """The cost of the episodes, such as $0.42; empty without a price."""
    branch: str = Field(default="", max_length=200)
    """The branch to which the work is pushed."""
    head_commit: str = Field(default="", max_length=64)
    """The last commit that was pushed to the branch."""
    plan_digest: str = Field(default="", max_length=80)
    """The digest of the plan that was last pushed."""
    plan_sync: PlanSync | None = None
    """The Jobs that pushed the plan where no episode did; absent: none was needed."""
    programs: tuple[Annotated[str, Field(max_length=16)], ...] = Field(default=(), max_length=32)
    """A hash of image and program for each acceptance command whose program was found."""
    push_passed: str = Field(default="", max_length=16)
    """A hash of the repository, branch and Secret for which the git server accepted a push."""
    conflicts: tuple[Annotated[str, Field(max_length=80)], ...] = Field(default=(), max_length=8)
    """Paths that several subtasks changed at the same time. Subtasks that may change these paths,
    which includes subtasks without `files`, run one at a time until the package is edited."""
    last_handled_cancel: str = Field(default="", max_length=MAX_REQUEST)
    """The last value of the annotation afresh.dev/cancel-requested-at that was handled."""
    last_handled_retry: str = Field(default="", max_length=MAX_REQUEST)
    """The last value of the annotation afresh.dev/retry-requested-at that was handled."""
    waiting_since: AwareDatetime | None = None
    """The time since which all episodes have ended for a temporary cause or a wrong setting;
    absent: the last episode did not."""
    wait: SharedWait | None = None
    """The failure that keeps this package and others from starting an episode; absent: none."""
    usage: UsageStatus = UsageStatus()
    """Tokens, cost and episodes that the package has used so far."""
    subtasks: Annotated[tuple[SubtaskRecord, ...], MapBy("id")] = Field(
        default=(), max_length=MAX_SUBTASKS
    )
    """One record per subtask."""
    # Not a map: the server would store an owner of every field of every item in managedFields.
    reviews: tuple[Review, ...] = Field(default=(), max_length=MAX_SUBTASKS)
    """The subtasks that wait for a person."""

    @property
    def message(self) -> str:
        """The message of the condition Ready; empty if there is no such condition."""
        return next((item.message for item in self.conditions if item.type == "Ready"), "")

"""Subtask: one verifiable piece of a package, as a list entry and as the operator's child object.

Knows nothing of the package around it.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, StrictBool, StrictInt

from afresh.api.agent_class import Command, Image
from afresh.api.conditions import Message, Reason, ShortMessage
from afresh.api.meta import ApiModel, DnsName, KubernetesObject, ObjectStatus
from afresh.api.phases import RevisionReason, SubtaskPhase
from afresh.api.resources import Count, TokenUsage
from afresh.api.rules import AtMostBytes, Clipped, Matching, Rule, UniqueItems
from afresh.contract.words import Checkout, ContextMode, Marker, Outcome

MAX_PROMPT_BYTES = 32 * 1024
MAX_DEPENDENCIES = 16
MAX_GUIDANCE = 20
ATTEMPTS_KEPT = 10
TRANSITIONS_KEPT = 20
INTERVENTIONS_KEPT = 10

SubtaskId = Annotated[
    str,
    Field(min_length=1, max_length=20, pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,18}[A-Za-z0-9])?$"),
    Matching(
        r"[.][.]|[.]$|[.]lock$",
        "an id becomes part of a git ref: no '..', and neither '.' nor '.lock' at the end",
        refuse=True,
    ),
]
"""The name of a subtask in its package."""

Prompt = Annotated[
    str,
    AtMostBytes(MAX_PROMPT_BYTES, "prompt is over 32 KiB: split the subtask, or name a file"),
    Matching(r"\S", "prompt is empty: say what is to be done"),
]
"""What the agent is asked to do."""

Title = Annotated[
    str,
    Field(max_length=100),
    Matching(r"[\x00-\x1f\x7f]", "title must be one line: put the rest into prompt", refuse=True),
]

Directive = Annotated[str, Field(min_length=1, max_length=500)]

Guidance = Annotated[tuple[Directive, ...], Field(max_length=MAX_GUIDANCE), UniqueItems()]
"""Directives in the present tense, such as "Use JWT, signed with the key in settings."."""

FileGlob = Annotated[
    str,
    Field(min_length=1, max_length=256),
    Matching(
        r"^/|(^|/)[.][.](/|$)",
        "files holds globs relative to the root of the repository: no leading '/' and no '..'",
        refuse=True,
    ),
]

TimeoutSeconds = Annotated[StrictInt, Field(ge=1, le=86_400)]


class Setup(ApiModel):
    """A command that prepares a checkout: before the agent, and before verify."""

    command: Command
    """The program and its arguments."""
    timeout_seconds: TimeoutSeconds = 300
    """How long it may run."""


class VerifySpec(ApiModel):
    """The acceptance command; a subtask is done only when it exits with 0."""

    command: Command
    """The program and its arguments; ["true"] opts out."""
    timeout_seconds: TimeoutSeconds = 300
    """How long it may run."""
    checkout: Checkout = Checkout.CLEAN
    """What it runs on: a clean checkout of the commit, or the agent's worktree."""
    image: Image | None = None
    """The image it runs in, which the class must allow; absent: the agent's."""


def _depends_on_others(entry: "SubtaskEntry") -> bool:
    return entry.id not in entry.depends_on


class SubtaskEntry(ApiModel):
    """One verifiable piece of the work."""

    RULES = (
        Rule(
            cel="!has(self.dependsOn) || !(self.id in self.dependsOn)",
            message="dependsOn names the subtask itself: remove it",
            field_path=".dependsOn",
            holds=_depends_on_others,
        ),
    )

    id: SubtaskId
    """The name of the subtask in its package, such as T001."""
    title: Title = ""
    """A few words for the plan and the commit; absent: the id."""
    prompt: Prompt
    """What the agent is asked to do."""
    epic: str = Field(default="", max_length=40)
    """The larger piece that this is part of; context mode FreshPerEpic goes by it."""
    depends_on: Annotated[tuple[SubtaskId, ...], UniqueItems()] = Field(
        default=(), max_length=MAX_DEPENDENCIES
    )
    """Ids of the subtasks that must be done, or skipped by the user, before this one starts."""
    files: Annotated[tuple[FileGlob, ...], UniqueItems()] = Field(default=(), max_length=50)
    """Globs for the files that may change; absent: any. One that ends in / or ** means what is in a
    folder; a plain name does if it is a folder before the subtask begins."""
    max_new_files: StrictInt = Field(default=10, ge=0, le=10_000)
    """How many files may be added."""
    verify: VerifySpec | None = None
    """The acceptance command; absent: the package's."""
    guidance: Guidance = ()
    """Directives for this subtask, in the present tense."""
    skip: StrictBool = False
    """Leave this one out; what depends on it goes on."""
    revision: StrictInt = Field(default=0, ge=0, le=1_000_000)
    """Raise it to run this subtask again."""
    revision_reason: RevisionReason | None = None
    """Why the revision was raised: a review rejected the work, or the work rests on what does not
    exist. Set it along with the revision; it is counted, and no agent is told."""


class SubtaskObjectSpec(SubtaskEntry):
    """A copy of the package's entry. The operator writes it; edit the package."""

    work_package_name: DnsName
    """The package, in the same namespace."""


class VerifyStatus(ApiModel):
    """How the acceptance command ended."""

    exit_code: StrictInt
    """Its exit code; 124 stands for its time limit."""
    duration_seconds: float
    """How long it ran."""
    tail: Annotated[str, Clipped(2048, keep_end=True)] = ""
    """The end of its output."""


class Attempt(ApiModel):
    """One episode of the subtask, for people to read."""

    number: Count
    """Its number, which never repeats in the life of a package."""
    job_name: Annotated[str, Field(max_length=253)] = ""
    """The Job."""
    context_mode: ContextMode | None = None
    """How much work the agent's context was given."""
    start_time: AwareDatetime | None = None
    """When the Job was created."""
    completion_time: AwareDatetime | None = None
    """When the result was recorded."""
    outcome: Outcome | None = None
    """How it ended; absent while it runs."""
    message: Message = ""
    """The same as a sentence."""
    summary: Message = ""
    """What the agent says of its work."""
    exit_code: StrictInt | None = None
    """The exit code of the agent's program."""
    turns: Count = 0
    """How often the model answered."""
    usage: TokenUsage = TokenUsage()
    """What models were used for."""
    verify: VerifyStatus | None = None
    """How the acceptance command ended, if it ran."""
    warnings: tuple[ShortMessage, ...] = Field(default=(), max_length=16)
    """What did not go well beside the outcome."""
    log_tail: Annotated[str, Clipped(2048, keep_end=True)] = ""
    """The end of the agent's log."""
    phases: dict[str, float] = Field(default_factory=dict, max_length=32)
    """Seconds since the runner's start, by the name of what was reached."""


class Transition(ApiModel):
    """One change of the subtask's phase."""

    time: AwareDatetime
    """When."""
    from_phase: SubtaskPhase | None = Field(default=None, alias="from")
    """The phase before; absent: none."""
    to_phase: SubtaskPhase = Field(alias="to")
    """The phase after."""
    reason: Reason = ""
    """Why, as one CamelCase word."""


Manager = Annotated[str, Clipped(40)]
"""Who wrote a field, as metadata.managedFields names it; empty where nothing is noted."""


class GivenGuidance(ApiModel):
    """A directive that somebody gave."""

    time: AwareDatetime
    """When."""
    by: Manager = ""
    """Who, as metadata.managedFields of the package names it."""
    text: Annotated[str, Clipped(80)]
    """What was said; the middle of a long text, which stands in the spec, is left out."""


class Deed(StrEnum):
    """What a person did to a subtask."""

    RETRIED = "Retried"
    SKIPPED = "Skipped"
    TAKEN_UP = "TakenUp"
    TRIED_AT_ONCE = "TriedAtOnce"
    CANCELLED = "Cancelled"


class Intervention(ApiModel):
    """One thing that a person did to the subtask."""

    time: AwareDatetime
    """When."""
    by: Manager = ""
    """Who, as metadata.managedFields of the package names it."""
    deed: Deed
    """Retried: the revision was raised. TakenUp: it is no longer skipped. TriedAtOnce: a wait was
    ended by afresh retry."""


class SubtaskObjectStatus(ObjectStatus):
    """What the operator observed. Decisions rest on the package's record, not on this."""

    observed_generation: StrictInt | None = None
    """The generation of the spec that this was concluded from."""
    phase: SubtaskPhase | None = None
    """Where the subtask stands."""
    marker: Marker | None = None
    """The same, as the plan shows it."""
    reason: Reason = ""
    """Why, as one CamelCase word."""
    message: Message = ""
    """Why, as a sentence, with what to do about it."""
    not_before: AwareDatetime | None = None
    """No episode starts before this time."""
    commit: Annotated[str, Field(max_length=64)] = ""
    """The commit that did it."""
    attempt_count: Count = 0
    """How many episodes there were."""
    start_time: AwareDatetime | None = None
    """When its first episode started, of those since it was last asked for."""
    completion_time: AwareDatetime | None = None
    """When it was done, skipped, or left to a person."""
    duration: Annotated[str, Field(max_length=24)] = ""
    """The time between them, such as 4m12s."""
    cost: Annotated[str, Field(max_length=24)] = ""
    """What they cost, such as $0.42; empty without a price."""
    attempts: tuple[Attempt, ...] = Field(default=(), max_length=ATTEMPTS_KEPT)
    """The last ten episodes; of several that ended alike as Auth or Config one after another, only
    the last is kept."""
    transitions: tuple[Transition, ...] = Field(default=(), max_length=TRANSITIONS_KEPT)
    """The last twenty changes of the phase."""
    guidance: tuple[GivenGuidance, ...] = Field(default=(), max_length=MAX_GUIDANCE)
    """The directives given to it, the last twenty; no agent sees by whom and when."""
    interventions: tuple[Intervention, ...] = Field(default=(), max_length=INTERVENTIONS_KEPT)
    """What people did to it, the last ten times; no agent is told."""


class SubtaskObject(KubernetesObject):
    """One subtask of a WorkPackage. Only the operator writes it; edit the WorkPackage."""

    kind: Literal["Subtask"] = "Subtask"
    spec: SubtaskObjectSpec
    """A copy of the package's entry."""
    status: SubtaskObjectStatus = SubtaskObjectStatus()
    """What the operator observed."""

"""Subtask: one verifiable piece of a package, as a list entry and as the operator's child object.

This module does not know the package.
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
    AtMostBytes(MAX_PROMPT_BYTES, "prompt is over 32 KiB: split the subtask, or refer to a file"),
    Matching(r"\S", "prompt is empty: describe the work to do"),
]
"""The work that the agent is asked to do."""

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
    """A command that prepares a checkout. It runs before the agent and before verify."""

    command: Command
    """The program and its arguments."""
    timeout_seconds: TimeoutSeconds = 300
    """How many seconds the command may run."""


class VerifySpec(ApiModel):
    """The acceptance command; a subtask is done only when it exits with 0."""

    command: Command
    """The program and its arguments; ["true"] accepts all work."""
    timeout_seconds: TimeoutSeconds = 300
    """How many seconds the command may run."""
    checkout: Checkout = Checkout.CLEAN
    """The files on which the command runs: a clean checkout of the commit, or the agent's
    worktree."""
    image: Image | None = None
    """The image in which the command runs, which the class must allow; absent: the agent's
    image."""


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
    """The id of the subtask, unique in its package, such as T001."""
    title: Title = ""
    """A short title for the plan and the commit message; absent: the id."""
    prompt: Prompt
    """The work that the agent is asked to do."""
    epic: str = Field(default="", max_length=40)
    """The larger piece of work to which the subtask belongs. Context mode FreshPerEpic groups
    subtasks by it."""
    depends_on: Annotated[tuple[SubtaskId, ...], UniqueItems()] = Field(
        default=(), max_length=MAX_DEPENDENCIES
    )
    """Ids of the subtasks that must be done, or skipped by the user, before this one starts."""
    files: Annotated[tuple[FileGlob, ...], UniqueItems()] = Field(default=(), max_length=50)
    """Globs for the files that may change; absent: any file. A glob that ends in / or ** matches
    the files inside a folder; so does a plain name if it is a folder when the subtask begins."""
    max_new_files: StrictInt = Field(default=10, ge=0, le=10_000)
    """How many files may be added."""
    verify: VerifySpec | None = None
    """The acceptance command; absent: that of the package."""
    guidance: Guidance = ()
    """Directives for this subtask, in the present tense."""
    skip: StrictBool = False
    """Skip this subtask; subtasks that depend on it can start."""
    revision: StrictInt = Field(default=0, ge=0, le=1_000_000)
    """Raise this number to run the subtask again."""
    revision_reason: RevisionReason | None = None
    """Why the revision was raised: a review rejected the work (Rejected), or the work uses
    something that does not exist (Hallucination). Set it together with the revision. It is counted
    in the status; agents do not see it."""


class SubtaskObjectSpec(SubtaskEntry):
    """A copy of the package's entry. Only the operator writes it; edit the package instead."""

    work_package_name: DnsName
    """Name of the package, in the same namespace."""


class VerifyStatus(ApiModel):
    """The result of the acceptance command."""

    exit_code: StrictInt
    """The exit code; 124 if the command reached its time limit."""
    duration_seconds: float
    """How many seconds the command ran."""
    tail: Annotated[str, Clipped(2048, keep_end=True)] = ""
    """The end of the command's output."""


class Attempt(ApiModel):
    """One episode of the subtask, for people to read."""

    number: Count
    """The number of the attempt, which is never used twice in a package."""
    job_name: Annotated[str, Field(max_length=253)] = ""
    """Name of the episode's Job."""
    context_mode: ContextMode | None = None
    """How much work the agent's context was given."""
    start_time: AwareDatetime | None = None
    """When the Job was created."""
    completion_time: AwareDatetime | None = None
    """When the result was recorded."""
    outcome: Outcome | None = None
    """How the attempt ended; absent while it runs."""
    message: Message = ""
    """How the attempt ended, as a sentence."""
    summary: Message = ""
    """The agent's own summary of its work."""
    exit_code: StrictInt | None = None
    """The exit code of the agent program."""
    turns: Count = 0
    """How many times the model answered."""
    usage: TokenUsage = TokenUsage()
    """Tokens that models used, and their cost."""
    verify: VerifyStatus | None = None
    """The result of the acceptance command, if it ran."""
    warnings: tuple[ShortMessage, ...] = Field(default=(), max_length=16)
    """Problems that did not change the outcome."""
    log_tail: Annotated[str, Clipped(2048, keep_end=True)] = ""
    """The end of the agent's log."""
    phases: dict[str, float] = Field(default_factory=dict, max_length=32)
    """When each stage of the episode was reached: seconds since the runner's start, by name."""


class Transition(ApiModel):
    """One change of the subtask's phase."""

    time: AwareDatetime
    """When the phase changed."""
    from_phase: SubtaskPhase | None = Field(default=None, alias="from")
    """The previous phase; absent: there was none."""
    to_phase: SubtaskPhase = Field(alias="to")
    """The new phase."""
    reason: Reason = ""
    """Why the phase changed, as one CamelCase word."""


Manager = Annotated[str, Clipped(40)]
"""The manager that wrote a field, from metadata.managedFields; empty if no entry has the field."""


class GivenGuidance(ApiModel):
    """A directive that was added to the package."""

    time: AwareDatetime
    """When the directive was added."""
    by: Manager = ""
    """Who added it: the manager in metadata.managedFields of the package."""
    text: Annotated[str, Clipped(80)]
    """The text of the directive. The middle of a long text is left out; the spec has all of it."""


class InterventionAction(StrEnum):
    """What a person did to a subtask."""

    RETRIED = "Retried"
    SKIPPED = "Skipped"
    TAKEN_UP = "TakenUp"
    TRIED_AT_ONCE = "TriedAtOnce"
    CANCELLED = "Cancelled"


class Intervention(ApiModel):
    """One thing that a person did to the subtask."""

    time: AwareDatetime
    """When it was done."""
    by: Manager = ""
    """Who did it: the manager in metadata.managedFields of the package."""
    action: InterventionAction
    """What was done. Retried: the revision was raised. Skipped: skip was set. TakenUp: skip was
    removed. TriedAtOnce: afresh retry ended a wait. Cancelled: afresh cancel stopped the
    episode."""


class SubtaskObjectStatus(ObjectStatus):
    """The state that the operator observed; decisions are based on the package's record instead."""

    observed_generation: StrictInt | None = None
    """The generation of the spec from which this status was computed."""
    phase: SubtaskPhase | None = None
    """The phase of the subtask."""
    marker: Marker | None = None
    """The phase as a marker in the plan."""
    reason: Reason = ""
    """Why the subtask is in this phase, as one CamelCase word."""
    message: Message = ""
    """Why the subtask is in this phase, as a sentence, with what to do about it."""
    not_before: AwareDatetime | None = None
    """No episode starts before this time."""
    commit: Annotated[str, Field(max_length=64)] = ""
    """The commit with the finished work."""
    attempt_count: Count = 0
    """How many episodes have worked on the subtask."""
    start_time: AwareDatetime | None = None
    """When the first episode started; after a subtask has ended and runs again, the first episode
    since then."""
    completion_time: AwareDatetime | None = None
    """When the subtask was done, skipped, or left to a person."""
    duration: Annotated[str, Field(max_length=24)] = ""
    """The time from startTime to completionTime, such as 4m12s."""
    cost: Annotated[str, Field(max_length=24)] = ""
    """The cost of the episodes, such as $0.42; empty without a price."""
    attempts: tuple[Attempt, ...] = Field(default=(), max_length=ATTEMPTS_KEPT)
    """The last ten episodes. Of several consecutive ones with the same outcome Auth or Config, only
    the last is kept."""
    transitions: tuple[Transition, ...] = Field(default=(), max_length=TRANSITIONS_KEPT)
    """The last twenty changes of the phase."""
    guidance: tuple[GivenGuidance, ...] = Field(default=(), max_length=MAX_GUIDANCE)
    """The last twenty directives. Agents do not see who added them and when."""
    interventions: tuple[Intervention, ...] = Field(default=(), max_length=INTERVENTIONS_KEPT)
    """The last ten things that people did to the subtask. Agents do not see them."""


class SubtaskObject(KubernetesObject):
    """One subtask of a WorkPackage. Only the operator writes it; edit the WorkPackage."""

    kind: Literal["Subtask"] = "Subtask"
    spec: SubtaskObjectSpec
    """A copy of the package's entry."""
    status: SubtaskObjectStatus = SubtaskObjectStatus()
    """The state that the operator observed."""

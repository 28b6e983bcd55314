"""The actions that a decision may ask for, a closed union, and the Decision that holds them."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from afresh.api.agent_class import Gate
from afresh.api.package_status import SharedWait, SubtaskRecord, UsageStatus
from afresh.api.phases import PackagePhase
from afresh.api.subtask import SubtaskEntry
from afresh.contract.order import Order
from afresh.core.history.classify import AttemptResult
from afresh.core.history.transitions import NO_SYNCS, Syncs
from afresh.core.observed import Member


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSubtask:
    """Create the child object for this entry."""

    entry: SubtaskEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateSubtask:
    """Make the spec of the child object equal to the entry."""

    name: str
    entry: SubtaskEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSubtask:
    """Remove the child object of an entry that is no longer in the package."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolate:
    """Write the NetworkPolicies of the package's episodes that are missing or differ.

    If the API server refuses one of them, no episode starts.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class StartEpisode:
    """Create the Job of one episode. `probe` names the closed gate that it tries.

    `inputs` is a digest of the fields of package and class from which the Job is built, `images` a
    digest of its images.
    """

    members: tuple[Member, ...]
    order: Order
    generations: str
    inputs: str = ""
    images: str = ""
    probe: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartSync:
    """Create the Job that pushes the plan. `plan` is the plan's digest.

    `probe` names the closed gate that it tries, if the cause can be tried without an agent.
    """

    attempt: int
    plan: str
    order: Order
    probe: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetGate:
    """Replace the gate `known` of a credential by `gate` in its class's status.

    None means that the gate is open.
    """

    class_name: str
    secret_name: str
    known: Gate | None
    gate: Gate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenGate:
    """Open the gate of a shared cause that an episode has just passed, for all waiting packages."""

    wait: SharedWait


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteJob:
    """Delete a Job and its pod, even while they run."""

    name: str
    uid: str


Action = (
    CreateSubtask
    | UpdateSubtask
    | DeleteSubtask
    | Isolate
    | StartEpisode
    | StartSync
    | DeleteJob
    | SetGate
    | OpenGate
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A Kubernetes Event to write after the status. `subtask` is an id, or None for the package."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    subtask: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """The result of one rule: the package's phase, its reason, a message, and actions.

    `wait` is the gate that the package waits for or tries. `may_push_plan`: a sync may push the
    plan meanwhile.
    """

    phase: PackagePhase
    reason: str
    message: str
    actions: tuple[Action, ...] = ()
    records: tuple[SubtaskRecord, ...] | None = None
    recheck_after: timedelta | None = None
    wait: SharedWait | None = None
    may_push_plan: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Everything that follows from one `Observed`: actions first, then the status.

    `over`: for each finished episode, the AttemptResult of the subtask it was working on.
    """

    phase: PackagePhase
    reason: str
    message: str
    actions: tuple[Action, ...]
    records: tuple[SubtaskRecord, ...]
    usage: UsageStatus
    attempt_results: tuple[AttemptResult, ...] = ()
    over: tuple[AttemptResult, ...] = ()
    notes: tuple[Note, ...] = ()
    syncs: Syncs = NO_SYNCS
    wait: SharedWait | None = None
    conflicts: tuple[str, ...] = ()
    recheck_after: timedelta | None = None

"""What a decision may ask for: a closed union of actions, and the Decision that holds them."""

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
    """Make the child object of this entry."""

    entry: SubtaskEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateSubtask:
    """Bring the child object's spec in line with the entry."""

    name: str
    entry: SubtaskEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSubtask:
    """Remove the child object of an entry that is no longer in the package."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolate:
    """Write the NetworkPolicies that the package's episodes need, where they are not as they must.

    When that is refused, nothing starts.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class StartEpisode:
    """Create the Job of one episode. `probe` names the closed gate that it tries.

    `inputs` is a digest of what in the package and its class it is made from, `images` one of its
    images.
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

    `probe` names the closed gate that it tries, of a cause that needs no agent to try.
    """

    attempt: int
    plan: str
    order: Order
    probe: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetGate:
    """Write the gate of a credential into its class's status, in the place of what stood there.

    None is an open gate.
    """

    class_name: str
    secret_name: str
    known: Gate | None
    gate: Gate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenGate:
    """Let everybody go on who waits for a shared cause, which an episode has just passed."""

    wait: SharedWait


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteJob:
    """Delete a Job and its pod, whatever they are doing."""

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
    """A Kubernetes Event to write once the status is written. `subtask` is an id or None."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    subtask: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """What one rule says: the package's phase, why, and what to do about it.

    `wait` is the gate that it waits behind, or tries. `may_push_plan`: a runner without an agent
    may bring the plan on the branch in line meanwhile.
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

    `over`: for each episode that it finds over, the attempt_result of the subtask that it was at.
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

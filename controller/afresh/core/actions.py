"""What a decision may ask for: a closed union of actions, and the Decision that holds them."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from afresh.api.phases import PackagePhase
from afresh.api.subtask import SubtaskEntry
from afresh.api.work_package import SubtaskRecord, Usage
from afresh.contract.order import Order
from afresh.core.evidence import Ended
from afresh.core.observed import Episode


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
class StartEpisode:
    """Create the Job of one episode."""

    subtask: str
    attempt: int
    revision: int
    order: Order


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteJob:
    """Delete a Job and its pod, whatever they are doing."""

    name: str
    uid: str


Action = CreateSubtask | UpdateSubtask | DeleteSubtask | StartEpisode | DeleteJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """An episode whose end this decision records."""

    episode: Episode
    ended: Ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A Kubernetes Event to write once the status is written. `subtask` is an id or None."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    subtask: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one rule says: the package's phase, why, and what to do about it."""

    phase: PackagePhase
    reason: str
    message: str
    actions: tuple[Action, ...] = ()
    records: tuple[SubtaskRecord, ...] | None = None
    recheck_after: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Everything that follows from one `Observed`: actions first, then the status."""

    phase: PackagePhase
    reason: str
    message: str
    actions: tuple[Action, ...]
    records: tuple[SubtaskRecord, ...]
    usage: Usage
    settlements: tuple[Settlement, ...] = ()
    notes: tuple[Note, ...] = ()
    recheck_after: timedelta | None = None

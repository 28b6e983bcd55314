"""What a person sees of a package at one instant, as plain values. Pure.

No text in it has a control character. Knows no terminal.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from afresh.api.agent_class import AgentClass, Gate
from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import ENDED, PackagePhase, SubtaskPhase
from afresh.api.subtask import Attempt, SubtaskEntry, SubtaskObject
from afresh.api.work_package import WorkPackage
from afresh.cli.plain_values import plain_value
from afresh.cli.printable import plain_line
from afresh.core.history.graph import satisfied
from afresh.core.history.transitions import new_record
from afresh.core.history.usage import TOKENS
from afresh.core.names import subtask_name
from afresh.core.reasons import Reason

# What the agent had of an episode, and what its verification had: from and to.
_SPANS = {"agent": ("agentStarted", "agentEnded"), "verify": ("committed", "verified")}


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskView:
    """One subtask. `seconds` is how long its last episode took, or takes so far.

    `waits_for` are the subtasks that it depends on and that are not done; `waits_seconds` is how
    long it is held back. `spans` are the seconds of the last episode's parts.
    """

    id: str
    title: str
    marker: str
    phase: str
    reason: str
    message: str
    attempts: int
    seconds: int | None
    spans: Mapping[str, float]
    tokens: int
    cost_usd: Decimal | None
    waits_for: tuple[str, ...]
    waits_seconds: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateView:
    """The closed gate of the package's Secret."""

    secret_name: str
    reason: str
    step: int
    until: str
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageView:
    """One package. `current` is False until the operator has looked at the last edit.

    `fetch` is the command that gets the work of one that has succeeded. The namespace of a package
    that is in no cluster is empty.
    """

    namespace: str
    name: str
    phase: str
    reason: str
    message: str
    current: bool
    progress: str
    running: str
    tokens: int
    cost_usd: Decimal | None
    age_seconds: int | None
    branch: str
    head_commit: str
    agent_class_name: str = ""
    fetch: str = ""
    gate: GateView | None = None
    subtasks: tuple[SubtaskView, ...] = ()

    @property
    def title(self) -> str:
        """The package's name as people are shown it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def over(self) -> bool:
        """Whether nothing happens until a person does something."""
        return self.current and self.phase in ENDED

    def to_json(self) -> dict[str, Any]:
        """Return plain values under camelCase names."""
        fields: dict[str, Any] = plain_value(self)
        return fields


def view_of(
    package: WorkPackage,
    now: datetime,
    children: Sequence[SubtaskObject] | None = None,
    classes: Iterable[AgentClass] = (),
) -> PackageView:
    """Return the view of `package`; without `children`, its subtasks are left out."""
    meta, status = package.metadata, package.status
    created = meta.creation_timestamp
    return PackageView(
        namespace=meta.namespace,
        name=meta.name,
        phase=status.phase or PackagePhase.PENDING,
        reason=plain_line(status.reason),
        message=plain_line(status.message),
        current=is_current(package),
        progress=status.progress or f"0/{len(package.spec.subtasks)}",
        running=plain_line(status.current),
        tokens=sum(getattr(status.usage, name) for name in TOKENS),
        cost_usd=status.usage.cost_usd,
        age_seconds=_seconds(created, now),
        branch=plain_line(status.branch or package.branch),
        head_commit=plain_line(status.head_commit),
        agent_class_name=package.spec.agent_class_name,
        fetch=fetch_line(package),
        gate=_gate(package, classes, now),
        subtasks=() if children is None else _subtasks(package, children, now),
    )


def unreadable_view(namespace: str, name: str, message: str) -> PackageView:
    """Return the view of a package that this version cannot read."""
    return PackageView(
        namespace=namespace,
        name=name,
        phase=PackagePhase.STALLED,
        reason=Reason.INVALID_SPEC,
        message=plain_line(message),
        current=True,
        progress="",
        running="",
        tokens=0,
        cost_usd=None,
        age_seconds=None,
        branch="",
        head_commit="",
    )


def fetch_line(package: WorkPackage) -> str:
    """Return the command that gets the work of a package that has succeeded; else nothing."""
    if package.status.phase is not PackagePhase.SUCCEEDED:
        return ""
    url = plain_line(package.spec.repository.url)
    return shlex.join(["git", "fetch", url, plain_line(package.status.branch or package.branch)])


def is_current(package: WorkPackage) -> bool:
    """Whether the status is about the package as it now is, and every request is answered."""
    status = package.status
    return (
        status.observed_generation == package.metadata.generation
        and package.cancel_request == status.last_handled_cancel
        and package.retry_request == status.last_handled_retry
    )


def _subtasks(
    package: WorkPackage, children: Sequence[SubtaskObject], now: datetime
) -> tuple[SubtaskView, ...]:
    by_name = {child.metadata.name: child for child in children}
    records = {record.id: record for record in package.status.subtasks}
    known = {
        entry.id: records.get(entry.id) or new_record(entry) for entry in package.spec.subtasks
    }
    return tuple(
        _subtask(entry, known, by_name.get(subtask_name(package.metadata.name, entry.id)), now)
        for entry in package.spec.subtasks
    )


def _subtask(
    entry: SubtaskEntry,
    records: Mapping[str, SubtaskRecord],
    child: SubtaskObject | None,
    now: datetime,
) -> SubtaskView:
    record = records[entry.id]
    attempts = child.status.attempts if child else ()
    pending = record.phase is SubtaskPhase.PENDING
    waits = record.not_before if pending and record.not_before else None
    return SubtaskView(
        id=entry.id,
        title=plain_line(entry.title),
        marker=record.marker,
        phase=record.phase,
        reason=plain_line(record.reason),
        message=plain_line(record.message),
        attempts=record.attempts_begun,
        seconds=_duration(attempts[-1], now) if attempts else None,
        spans=_spans(attempts[-1]) if attempts else {},
        tokens=sum(getattr(item.usage, name) for item in attempts for name in TOKENS),
        cost_usd=record.cost_usd,
        waits_for=tuple(
            name for name in entry.depends_on if pending and not satisfied(records[name])
        ),
        waits_seconds=int((waits - now).total_seconds()) if waits and waits > now else None,
    )


def _duration(attempt: Attempt, now: datetime) -> int | None:
    if attempt.start_time is None:
        return None
    end = attempt.completion_time or (None if attempt.outcome else now)
    return _seconds(attempt.start_time, end) if end else None


def _spans(attempt: Attempt) -> dict[str, float]:
    at = attempt.phases
    return {
        name: round(at[last] - at[first], 1)
        for name, (first, last) in _SPANS.items()
        if first in at and last in at
    }


def _gate(package: WorkPackage, classes: Iterable[AgentClass], now: datetime) -> GateView | None:
    found = closed_gate(package, classes)
    if found is None:
        return None
    return GateView(
        secret_name=found.secret_name,
        reason=plain_line(found.reason),
        step=found.step,
        until=found.until.isoformat(),
        seconds=max(0, int((found.until - now).total_seconds())),
    )


def closed_gate(package: WorkPackage, classes: Iterable[AgentClass]) -> Gate | None:
    """Return the gate of the package's Secret that stays closed longest, in any class."""
    known = {item.metadata.name: item for item in classes}
    own = known.get(package.spec.agent_class_name)
    if own is None or own.spec.credentials is None:
        return None
    mine = (package.metadata.namespace, own.spec.credentials.secret_name)
    gates = [gate for item in known.values() for gate in item.status.gates]
    found = [gate for gate in gates if (gate.namespace, gate.secret_name) == mine]
    return max(found, key=lambda gate: gate.until, default=None)


def _seconds(since: datetime | None, now: datetime) -> int | None:
    return max(0, int((now - since).total_seconds())) if since else None

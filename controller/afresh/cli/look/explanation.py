"""Why a package is where it is, and what would be done next, as plain values. Pure.

The rules are the operator's own; nothing here decides.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, assert_never

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.api.work_package import WorkPackage
from afresh.cli.look.package_view import fetch_line, is_current
from afresh.cli.plain_values import plain_value
from afresh.cli.printable import plain_line
from afresh.core.decision import (
    Action,
    CreateSubtask,
    Decision,
    DeleteJob,
    DeleteSubtask,
    Isolate,
    OpenGate,
    SetGate,
    StartEpisode,
    StartSync,
    UpdateSubtask,
)
from afresh.core.history import graph
from afresh.core.history.durations import short_duration
from afresh.core.history.transitions import new_record
from afresh.core.observed import Observed
from afresh.core.planner import decide
from afresh.core.policy.rules import RULES
from afresh.core.reason_table import ROWS
from afresh.core.situation import situation_of

_OF_SUBTASKS = {CreateSubtask: "create", UpdateSubtask: "update", DeleteSubtask: "delete"}
# An operator that runs looks at a change within a second; a busy one may take a while.
LOOKS_WITHIN = timedelta(seconds=20)
FIND = "kubectl get deploy -A -l app.kubernetes.io/name=afresh,app.kubernetes.io/component=operator"
_REMEDIES = {row.reason: row.remedy for row in ROWS}


@dataclass(frozen=True, slots=True)
class Missing:
    """What could not be seen, and what therefore is not known."""

    what: str
    hides: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusSummary:
    """The state of the package: as its status has it, or as it would be now."""

    phase: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPass:
    """What the operator would do now: the rule that applies, and its actions."""

    rule: str
    fact: str
    status: StatusSummary
    actions: tuple[str, ...]
    looks_again_seconds: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingSubtask:
    """A subtask that does not continue, and why."""

    id: str
    marker: str
    why: str
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything that `afresh explain` says. Without `next`, too little could be seen.

    `behind`: the operator has not looked at the last change. `operators` is None where it is not
    known which there are. `unserved` says that nobody serves the package, as far as it is seen.
    """

    namespace: str
    name: str
    recorded: StatusSummary
    behind: bool
    next: NextPass | None
    waiting: tuple[WaitingSubtask, ...]
    remedy: str
    missing: tuple[Missing, ...]
    operators: tuple[str, ...] | None
    unserved: str
    fetch: str

    def to_json(self) -> dict[str, Any]:
        """Return plain values under camelCase names."""
        fields: dict[str, Any] = plain_value(self)
        return fields


def explain(
    package: WorkPackage,
    observed: Observed | None,
    missing: tuple[Missing, ...] = (),
    operators: tuple[str, ...] | None = None,
    now: datetime | None = None,
) -> Explanation:
    """Return why the package is where it is. `observed` is None where too little was seen."""
    decision = decide(observed) if observed else None
    records = decision.records if decision else package.status.subtasks
    reason = decision.reason if decision else package.status.reason
    return Explanation(
        namespace=package.metadata.namespace,
        name=package.metadata.name,
        recorded=_recorded(package),
        behind=not is_current(package),
        next=_next(observed, decision) if observed and decision else None,
        waiting=tuple(_waiting(package, {record.id: record for record in records})),
        remedy=_remedy(str(reason), behind=not is_current(package), operators=operators),
        missing=missing,
        operators=operators,
        unserved=_unserved(package, operators, now or (observed.now if observed else None)),
        fetch=fetch_line(package),
    )


def _unserved(package: WorkPackage, operators: tuple[str, ...] | None, now: datetime | None) -> str:
    """Say that no operator serves the package, by what a person may see; empty: one may."""
    if operators is not None and not any(is_ready(item) for item in operators):
        there = "no operator is ready" if operators else "there is no operator in this cluster"
        return f"Nothing happens: {there}. Have it installed or started; see {FIND}."
    since = _changed_at(package)
    if is_current(package) or now is None or since is None or now - since < LOOKS_WITHIN:
        return ""
    return (
        "Nothing happens: no operator has looked at the last change for "
        f"{short_duration(int((now - since).total_seconds()))}. None runs, or none serves the "
        f"namespace {package.metadata.namespace}; see {FIND} and the value namespaces of its chart."
    )


def _changed_at(package: WorkPackage) -> datetime | None:
    """When somebody last changed the package, as the API server has noted it."""
    times = [item.time for item in package.metadata.managed_fields if item.is_of_users]
    return max(filter(None, times), default=package.metadata.creation_timestamp)


def _remedy(reason: str, *, behind: bool, operators: tuple[str, ...] | None) -> str:
    """Return what a person should do. Without a ready operator, nothing else helps."""
    if behind and operators is not None and not any(map(is_ready, operators)):
        return "Have the operator installed or started: without one nothing happens."
    if not reason:
        return "Wait until the operator has looked at it; if that lasts, see whether one runs."
    return _REMEDIES.get(reason, "Nothing.").replace("`", "")


def _recorded(package: WorkPackage) -> StatusSummary:
    status = package.status
    return StatusSummary(
        phase=status.phase or PackagePhase.PENDING,
        reason=plain_line(status.reason),
        message=plain_line(status.message),
    )


def _next(seen: Observed, decision: Decision) -> NextPass:
    situation = situation_of(seen)
    rule = next(rule for rule in RULES if rule(situation))
    again = decision.recheck_after
    return NextPass(
        rule=rule.__name__,
        fact=" ".join((rule.__doc__ or "").split()),
        status=StatusSummary(
            phase=decision.phase, reason=decision.reason, message=plain_line(decision.message)
        ),
        actions=tuple(_actions_of(decision)),
        looks_again_seconds=None if again is None else int(again.total_seconds()),
    )


def _actions_of(decision: Decision) -> Iterator[str]:
    for attempt_result in decision.attempt_results:
        member, ended = attempt_result.member, attempt_result.ended
        yield f"record that attempt {member.attempt} of {member.subtask} ended: {ended.outcome}"
    children = Counter(type(item) for item in decision.actions if type(item) in _OF_SUBTASKS)
    for kind, number in children.items():
        yield f"{_OF_SUBTASKS[kind]} {number} Subtask{'s' if number > 1 else ''}"
    for action in decision.actions:
        if type(action) not in _OF_SUBTASKS:
            yield plain_line(_sentence(action))


def _sentence(action: Action) -> str:
    match action:
        case StartEpisode():
            who = ", ".join(f"{item.subtask} (attempt {item.attempt})" for item in action.members)
            probe = ", which tries whether the gate is open again" if action.probe else ""
            return f"start a fresh agent for {who}{probe}"
        case StartSync():
            return "start a runner without an agent that brings the plan on the branch in line"
        case SetGate():
            if action.gate is None:
                return f"open the gate of the Secret {action.secret_name}"
            return f"close the gate of the Secret {action.secret_name} until {action.gate.until}"
        case OpenGate():
            return f"let the packages continue that wait for {action.wait.key}"
        case DeleteJob():
            return f"delete the Job {action.name}"
        case Isolate():
            return "write the NetworkPolicies"
        case CreateSubtask() | UpdateSubtask() | DeleteSubtask():
            return "bring the Subtasks in line"
        case _:
            assert_never(action)


def _waiting(package: WorkPackage, records: dict[str, SubtaskRecord]) -> Iterator[WaitingSubtask]:
    """The subtasks that need a person, or wait for others that are not done."""
    known = {
        entry.id: records.get(entry.id) or new_record(entry) for entry in package.spec.subtasks
    }
    for entry in package.spec.subtasks:
        record = known[entry.id]
        waits = [known[name] for name in entry.depends_on if not graph.satisfied(known[name])]
        if record.phase in (SubtaskPhase.NEEDS_REVIEW, SubtaskPhase.SKIPPED):
            if not graph.satisfied(record):
                remedy = _REMEDIES.get(record.reason, "").replace("`", "")
                said = plain_line(record.message)
                why = f"{record.reason}: {said}" if said else record.reason
                yield WaitingSubtask(id=entry.id, marker=record.marker, why=why, remedy=remedy)
        elif record.phase is SubtaskPhase.PENDING and waits:
            names = ", ".join(f"{item.id} {item.marker}" for item in waits)
            yield WaitingSubtask(id=entry.id, marker=record.marker, why=f"waits for {names}")


def is_ready(operator: str) -> bool:
    """Whether the sentence on an operator's Deployment says that a replica is ready."""
    return ": 0 of " not in operator

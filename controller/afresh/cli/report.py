"""The report on one package: what stands, what waits for a person, what agents noted. Pure.

No text in it has a control character, whoever wrote it.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import PackagePhase
from afresh.api.subtask import SubtaskEntry
from afresh.api.work_package import WorkPackage
from afresh.cli.branch_files import Notes
from afresh.cli.printable import plain_line, plain_lines
from afresh.contract.words import Outcome
from afresh.core.names import subtask_name
from afresh.core.reasons import Reason
from afresh.core.records import new_record
from afresh.core.status import dollars


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One subtask; `commit` is whole, `cost` is empty without a price."""

    marker: str
    id: str
    title: str
    reason: str
    attempts: int
    commit: str
    cost: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One thing that can be done, and the command for it."""

    what: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What waits for a person, why, and the ways to go on; the whole package has no id."""

    id: str
    reason: str
    message: str
    ways: tuple[Way, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that a person needs to go on."""

    namespace: str
    name: str
    goal: str
    phase: str
    message: str
    progress: str
    cost: str
    branch: str
    head_commit: str
    subtasks: tuple[Row, ...]
    waiting: tuple[Waiting, ...]
    notes: Notes

    def to_json(self) -> dict[str, Any]:
        """Return plain values under camelCase names."""
        fields = asdict(self)
        return fields | {"headCommit": fields.pop("head_commit")}


def report_on(package: WorkPackage, notes: Notes) -> Report:
    """Return the report on `package`, with what was read from its branch."""
    status = package.status
    ready = next((item.message for item in status.conditions if item.type == "Ready"), "")
    records = {record.id: record for record in status.subtasks}
    return Report(
        namespace=package.metadata.namespace,
        name=package.metadata.name,
        goal=plain_line(package.spec.goal),
        phase=status.phase or PackagePhase.PENDING,
        message=plain_line(ready),
        progress=status.progress,
        cost=status.cost,
        branch=status.branch or package.branch,
        head_commit=status.head_commit,
        subtasks=tuple(
            _row(entry, records.get(entry.id) or new_record(entry))
            for entry in package.spec.subtasks
        ),
        waiting=tuple(_waiting(package, ready)),
        notes=Notes(
            discovery=plain_lines(notes.discovery),
            ideas=plain_lines(notes.ideas),
            problem=plain_line(notes.problem),
        ),
    )


def _row(entry: SubtaskEntry, record: SubtaskRecord) -> Row:
    return Row(
        marker=record.marker,
        id=entry.id,
        title=plain_line(entry.title),
        reason=plain_line(record.reason),
        attempts=record.attempts,
        commit=plain_line(record.commit),
        cost=dollars(record.cost_usd),
    )


def _waiting(package: WorkPackage, ready: str) -> Iterator[Waiting]:
    name, namespace = package.metadata.name, package.metadata.namespace
    if package.status.phase is PackagePhase.STALLED:
        what = "Mend it; where that does not change the package, ask it to go on"
        yield Waiting(
            id="",
            reason=plain_line(package.status.reason),
            message=plain_line(ready),
            ways=(Way(what=what, command=f"afresh retry -n {namespace} {name}"),),
        )
    for review in package.status.reviews:
        subtask = plain_line(review.id)
        yield Waiting(
            id=subtask,
            reason=plain_line(review.reason),
            message=plain_line(review.message),
            ways=tuple(_ways(package, subtask, review.reason)),
        )


def _ways(package: WorkPackage, subtask: str, reason: str) -> Iterator[Way]:
    name, namespace = package.metadata.name, package.metadata.namespace
    place = f"-n {namespace} {name} {subtask}"
    if reason == Reason.TOO_MANY_FAILURES:
        child = subtask_name(name, subtask)
        see = f"kubectl describe st -n {namespace} {child}"
        yield Way(what="See how its last episodes ended", command=see)
    if reason == Outcome.OUT_OF_SCOPE:
        work = f"git fetch origin refs/afresh/{namespace}/{name}/{subtask}"
        yield Way(what="See what was done", command=work)
        what = "Widen its files or maxNewFiles in the package, and run it again"
    else:
        what = "Change it in the package, and run it again"
        guide = f'afresh guide {place} "..."'
        yield Way(what="Decide, say what is to be done, and run it again", command=guide)
    yield Way(what=what, command=f"afresh retry {place}")
    yield Way(what="Leave it out", command=f"afresh skip {place}")

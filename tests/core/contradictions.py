"""What a package's status must never say at once, whatever came before it."""

from collections.abc import Iterator

from afresh.api.package_status import SubtaskRecord, WorkPackageStatus
from afresh.api.phases import ENDED, PackagePhase, SubtaskPhase
from afresh.contract.outcomes import TABLE, NextStep
from afresh.contract.words import Marker
from afresh.core.history.graph import satisfied
from afresh.core.history.transitions import IN_EPISODE, MARKERS
from afresh.core.reasons import Reason

STARTS_NOTHING = (*ENDED, PackagePhase.SUSPENDED)


def contradictions(status: WorkPackageStatus, wanted: set[str]) -> Iterator[str]:
    """Yield a sentence for each; `wanted` are the ids of the subtasks that the package has."""
    records = [record for record in status.subtasks if record.id in wanted]
    for record in status.subtasks:
        yield from _of_record(record)
    if {record.id for record in records} != wanted:
        yield "some subtask has no record"
    if len({record.id for record in status.subtasks}) != len(status.subtasks):
        yield "a subtask has two records"
    yield from _of_phase(status, records)
    holding = {item.type for item in status.conditions if str(item.status) == "True"}
    if len(holding) > 1:
        yield f"the conditions {sorted(holding)} hold at once"
    if not all(item.message for item in status.conditions):
        yield "a condition says nothing"


def _of_phase(status: WorkPackageStatus, records: list[SubtaskRecord]) -> Iterator[str]:
    running = [record.id for record in records if record.phase in IN_EPISODE]
    if status.phase in STARTS_NOTHING and running:
        yield f"the package is {status.phase} and {running} are in an episode"
    if status.phase is PackagePhase.SUCCEEDED and not all(satisfied(item) for item in records):
        yield "the package has succeeded and a subtask is not done"
    if status.phase is PackagePhase.NEEDS_REVIEW and not status.reviews:
        yield "the package needs a review and names no subtask"
    if status.phase in ENDED and status.wait:
        yield f"the package is {status.phase} and waits for a shared cause"
    done = sum(1 for record in records if satisfied(record))
    if status.progress != f"{done}/{len(records)}":
        yield f"{done} subtasks are done and the progress is {status.progress}"


def _of_record(record: SubtaskRecord) -> Iterator[str]:
    if record.marker is not MARKERS[record.phase]:
        yield f"{record.id} is {record.phase} and its marker is {record.marker}"
    if record.not_before and record.phase is not SubtaskPhase.PENDING:
        yield f"{record.id} is {record.phase} and waits for a time"
    if record.phase in IN_EPISODE and not record.attempts:
        yield f"{record.id} is in an episode and none was started"
    if record.phase is SubtaskPhase.DONE and (record.consecutive_failures or record.refused):
        yield f"{record.id} is done and failed last"
    if record.phase is SubtaskPhase.PENDING and record.reason in (
        Reason.VERIFIED, Reason.SKIPPED_BY_USER, Reason.REMOVED, Reason.TOO_MANY_FAILURES,
    ):  # fmt: skip
        yield f"{record.id} is pending for the reason {record.reason}"
    row = next((row for outcome, row in TABLE.items() if outcome == record.reason), None)
    if row and row.next is NextStep.REVIEW and record.marker is not Marker.NEEDS_REVIEW:
        yield f"{record.id} ended {record.reason} and nobody is asked"

"""The Events about a decision: two per episode of a subtask, one per change of a package."""

from collections.abc import Iterator

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.contract.words import Outcome
from afresh.core.decision import Note, RuleResult
from afresh.core.situation import Situation

GOOD = frozenset(
    {
        PackagePhase.RUNNING,
        PackagePhase.SUCCEEDED,
        PackagePhase.QUEUED,
        PackagePhase.SUSPENDED,
    }
)


def notes_of(
    situation: Situation, answer: RuleResult, records: tuple[SubtaskRecord, ...]
) -> Iterator[Note]:
    """Yield Events for episodes that ended or began, and for a changed phase of the package."""
    yield from _ends(situation)
    yield from _starts(situation, records)
    before = situation.package.status
    if (answer.phase, answer.reason) != (before.phase, before.reason):
        yield Note(
            type="Normal" if answer.phase in GOOD else "Warning",
            reason=answer.reason,
            message=answer.message,
        )


def _ends(situation: Situation) -> Iterator[Note]:
    for item in situation.state.attempt_results:
        ended, subtask = item.ended, item.member.subtask
        if item.episode.uid and not ended.begun:
            continue
        good = ended.outcome is Outcome.SUCCESS
        message = ended.message or ("The acceptance command passed." if good else "")
        yield Note(
            type="Normal" if good else "Warning",
            reason=str(ended.outcome),
            message=f"{subtask}: {message}",
            subtask=subtask,
        )


def _starts(situation: Situation, records: tuple[SubtaskRecord, ...]) -> Iterator[Note]:
    old = {record.id: record.attempts for record in situation.package.status.subtasks}
    for record in records:
        if record.phase is SubtaskPhase.RUNNING and record.attempts > old.get(record.id, 0):
            yield Note(
                type="Normal",
                reason="EpisodeStarted",
                message=f"{record.id}: a fresh agent works on it.",
                subtask=record.id,
            )

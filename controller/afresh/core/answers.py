"""What rules answer with: the pieces that several of them share."""

from datetime import datetime, timedelta

from afresh.api.phases import PackagePhase
from afresh.api.subtask import SubtaskEntry
from afresh.api.work_package import SubtaskRecord
from afresh.core.actions import Answer, StartEpisode
from afresh.core.names import job_name
from afresh.core.observed import Observed
from afresh.core.orders import order_of
from afresh.core.reasons import Reason
from afresh.core.settle import STALLING, Standing


def stall(reason: Reason, message: str) -> Answer:
    """Say that nothing goes on until somebody mends what the message names."""
    return Answer(phase=PackagePhase.STALLED, reason=reason, message=message)


def go_on(standing: Standing) -> Answer:
    """Say what the live episodes do: run, wait in a queue, fail to start, or probe a stall."""
    problem = next((live.problem for _, live in standing.live if live.problem), None)
    queued = all(live.queued for _, live in standing.live)
    probed = next((r for r in standing.records if r.reason in STALLING), None)
    names = running_sentence([episode.subtask for episode, _ in standing.live])
    if probed:
        return Answer(phase=PackagePhase.STALLED, reason=probed.reason, message=probed.message)
    if queued:
        message = "The Job waits for its queue."
        return Answer(phase=PackagePhase.QUEUED, reason=Reason.EPISODE_QUEUED, message=message)
    if problem:
        return Answer(
            phase=PackagePhase.PENDING, reason=Reason.EPISODE_NOT_STARTED, message=problem
        )
    return Answer(phase=PackagePhase.RUNNING, reason=Reason.EPISODE_RUNNING, message=names)


def running_sentence(subtasks: list[str]) -> str:
    """Return the sentence that names the running subtasks."""
    verb = "is" if len(subtasks) == 1 else "are"
    return f"{', '.join(subtasks)} {verb} running."


def start_of(seen: Observed, standing: Standing, entry: SubtaskEntry) -> StartEpisode:
    """Return the start of the next episode of `entry`; its attempt's number was never used."""
    record = standing.record(entry.id)
    taken = [item.attempt for item in seen.episodes if item.subtask == entry.id]
    attempt = max([record.attempts, *taken]) + 1
    metadata = seen.package.metadata
    name = job_name(metadata.name, entry.id, attempt, metadata.uid)
    return StartEpisode(
        subtask=entry.id,
        attempt=attempt,
        revision=entry.revision,
        order=order_of(seen, standing, entry, episode=name),
    )


def is_due(record: SubtaskRecord, now: datetime) -> bool:
    """Whether the subtask has waited long enough."""
    return record.not_before is None or record.not_before <= now


def until(then: datetime, now: datetime) -> timedelta:
    """Return the time left, never negative."""
    return max(then - now, timedelta(0))

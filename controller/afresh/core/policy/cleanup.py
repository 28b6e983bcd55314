"""Chooses the Jobs to delete: those of removed or stopped subtasks, and those that hang. Pure."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from afresh.api.package_status import SubtaskRecord
from afresh.contract.pod_layout import RUNNER
from afresh.core.decision import DeleteJob
from afresh.core.history.classify import START_ERROR, is_left_by_node
from afresh.core.history.transitions import is_cancelled, knows_end
from afresh.core.observed import ContainerState, Episode, Observed
from afresh.core.situation import Situation

LEFT_BEHIND_AFTER = timedelta(seconds=15)


def leftovers(situation: Situation) -> Iterator[DeleteJob]:
    """Yield the Jobs of removed subtasks, and those that hang although their end is recorded.

    A Job whose containers all run or have ended completes by itself, and its log stays readable
    until then.
    """
    records, seen = situation.by_id, situation.seen
    just_settled = {item.episode.name for item in situation.state.attempt_results}
    for episode in seen.episodes:
        # A result is in the status before its evidence is deleted.
        if episode.name in just_settled or episode.deleting:
            continue
        known = [(member, records.get(member.subtask)) for member in episode.members]
        waiting = [(m, r) for m, r in known if r and not knows_end(r, m)]
        stopped = [r for _, r in waiting if _stopped(episode, r, seen)]
        removed = any(record is None for _, record in known)
        # An episode may have several subtasks: the stop is recorded for each of them first.
        unwanted = (removed or stopped) and len(stopped) == len(waiting)
        hangs = (
            _hangs(episode, now=seen.now)
            or _left_behind(episode, now=seen.now)
            or _would_run_again(episode)
        )
        over = not waiting if episode.members else _sync_recorded(episode, seen)
        if (unwanted and not episode.finished) or (over and hangs):
            yield DeleteJob(name=episode.name, uid=episode.uid)


def _sync_recorded(episode: Episode, seen: Observed) -> bool:
    record = seen.package.status.plan_sync
    return record is not None and episode.attempt <= record.attempts


def _stopped(episode: Episode, record: SubtaskRecord, seen: Observed) -> bool:
    """Whether the status already records that this episode is to be stopped."""
    member = episode.member(record.id)
    if member is None or member.attempt != record.attempts or not is_cancelled(record):
        return False
    return any(old.id == record.id and is_cancelled(old) for old in seen.package.status.subtasks)


def _hangs(episode: Episode, *, now: datetime) -> bool:
    # The kubelet reports a container's start late; a short episode ends before that.
    if episode.finished or now - episode.created < LEFT_BEHIND_AFTER:
        return False
    pod = episode.pod
    if pod is None or pod.deleting_since or not pod.containers:
        return True
    if is_left_by_node(pod, now):
        return True
    # The runner cannot tell an agent that will never start from one that starts late, and waits for
    # both.
    return any(
        item.state is ContainerState.WAITING or item.reason == START_ERROR
        for item in pod.containers
    )


def _left_behind(episode: Episode, *, now: datetime) -> bool:
    """Whether a container still runs although its runner ended and asked it to end a while ago."""
    runner = episode.pod.container(RUNNER) if episode.pod else None
    if episode.finished or episode.pod is None or runner is None or runner.finished is None:
        return False
    if now - runner.finished < LEFT_BEHIND_AFTER:
        return False
    return any(item.state is ContainerState.RUNNING for item in episode.pod.containers)


def _would_run_again(episode: Episode) -> bool:
    """Whether a queue suspended the Job before it could end: once resumed it would make a new pod.

    The watch may show the pod's deletion before the Job's suspension.
    """
    pod = episode.pod
    given_back = episode.released is None and pod is None
    taken = episode.has_queue and (pod is None or pod.deleting_since is not None)
    return not episode.finished and (episode.suspended or given_back or taken)


def outlives_its_end(situation: Situation) -> bool:
    """Whether the Job still runs although its episode has ended.

    The cause may be a container that never ends. No event reports that, so the package is looked at
    again later.
    """
    live = [episode for episode, _ in situation.live]
    live += [situation.syncs.live] if situation.syncs.live else []
    names = {episode.name for episode in live}
    return any(
        not episode.finished and not episode.deleting and episode.name not in names
        for episode in situation.seen.episodes
    )

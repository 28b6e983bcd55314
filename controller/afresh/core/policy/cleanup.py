"""Which Jobs are deleted: those of subtasks that are gone or stopped, and those that hang. Pure."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from afresh.api.package_status import SubtaskRecord
from afresh.contract.pod_layout import RUNNER
from afresh.core.decision import DeleteJob
from afresh.core.history.classify import START_ERROR
from afresh.core.history.transitions import is_cancelled, knows_end
from afresh.core.observed import ContainerState, Episode, Observed
from afresh.core.situation import Situation

LEFT_BEHIND_AFTER = timedelta(seconds=15)


def leftovers(situation: Situation) -> Iterator[DeleteJob]:
    """Yield the Jobs of subtasks that are gone, and those that hang although their end is recorded.

    A Job whose containers all run or have ended goes by itself, and keeps its log till then.
    """
    records, seen = situation.by_id, situation.seen
    just_settled = {item.episode.name for item in situation.state.attempt_results}
    for episode in seen.episodes:
        # A result is written to the status before its evidence may go.
        if episode.name in just_settled or episode.deleting:
            continue
        known = [(member, records.get(member.subtask)) for member in episode.members]
        waiting = [(m, r) for m, r in known if r and not knows_end(r, m)]
        stopped = [r for _, r in waiting if _stopped(episode, r, seen)]
        removed = any(record is None for _, record in known)
        # Whoever is stopped along with others has it written down as well.
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
    """Whether it is written down already that this episode is to be stopped."""
    member = episode.member(record.id)
    if member is None or member.attempt != record.attempts or not is_cancelled(record):
        return False
    return any(old.id == record.id and is_cancelled(old) for old in seen.package.status.subtasks)


def _hangs(episode: Episode, *, now: datetime) -> bool:
    # The kubelet tells late that containers have started; a short episode is over before.
    if episode.finished or now - episode.created < LEFT_BEHIND_AFTER:
        return False
    pod = episode.pod
    if pod is None or pod.deleting_since or not pod.containers:
        return True
    # A runner waits for an agent that could not be started as long as for one that is yet to come.
    return any(
        item.state is ContainerState.WAITING or item.reason == START_ERROR
        for item in pod.containers
    )


def _left_behind(episode: Episode, *, now: datetime) -> bool:
    """Whether a container runs on although its runner ended a while ago and told it to end."""
    runner = episode.pod.container(RUNNER) if episode.pod else None
    if episode.pod is None or runner is None or runner.finished is None:
        return False
    if now - runner.finished < LEFT_BEHIND_AFTER:
        return False
    return any(item.state is ContainerState.RUNNING for item in episode.pod.containers)


def _would_run_again(episode: Episode) -> bool:
    """Whether a queue took the Job's place before it could end: given back, it makes a new pod.

    That the pod is taken away may be seen before that the Job is suspended.
    """
    pod = episode.pod
    given_back = episode.released is None and pod is None
    taken = episode.has_queue and (pod is None or pod.deleting_since is not None)
    return not episode.finished and (episode.suspended or given_back or taken)


def outlives_its_end(situation: Situation) -> bool:
    """Whether the Job of an episode that is over goes on.

    What keeps it may be a container that never ends. No event tells of that, and any other may
    come first: each step says anew when to look.
    """
    live = [episode for episode, _ in situation.live]
    live += [situation.syncs.live] if situation.syncs.live else []
    names = {episode.name for episode in live}
    return any(
        not episode.finished and not episode.deleting and episode.name not in names
        for episode in situation.seen.episodes
    )

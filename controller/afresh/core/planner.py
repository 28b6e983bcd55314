"""`decide`: from one `Observed` to one `Decision`. The only entry to the core."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.api.subtask import SubtaskEntry, SubtaskObjectSpec
from afresh.contract.pod_layout import RUNNER
from afresh.contract.words import Outcome
from afresh.core.decision import (
    Action,
    CreateSubtask,
    Decision,
    DeleteJob,
    DeleteSubtask,
    Isolate,
    Note,
    OpenGate,
    RuleResult,
    SetGate,
    StartEpisode,
    StartSync,
    UpdateSubtask,
)
from afresh.core.history.classify import START_ERROR
from afresh.core.history.replay import PackageState, replay
from afresh.core.history.transitions import is_cancelled, knows_end
from afresh.core.names import subtask_name
from afresh.core.observed import ContainerState, Episode, Observed
from afresh.core.policy.credential_gate import credential_of, gate_after
from afresh.core.policy.plan_sync import with_sync
from afresh.core.policy.rules import RULES

# While an episode has not started, its events are looked at; later the watch tells everything,
# but for a node that is lost.
LOOK_AT_START = timedelta(seconds=5)
# What a pod waits for that is slow to start is told by its watch; Events are read now and then.
SLOW_START = timedelta(seconds=60)
LOOK_AT_SLOW_START = timedelta(seconds=30)
LOOK_AT_RUN = timedelta(seconds=60)
LEFT_BEHIND_AFTER = timedelta(seconds=15)


def decide(seen: Observed) -> Decision:
    """Return what follows from `seen`. The same input always gives the same answer."""
    state = replay(seen)
    answer = next(filter(None, (rule(seen, state) for rule in RULES)))
    answer = with_sync(seen, state, answer)
    records = (*(answer.records or state.records), *state.removed)
    return Decision(
        phase=answer.phase,
        reason=answer.reason,
        message=answer.message,
        # Deletions first: they may free what a start needs. A gate closes before anything is
        # recorded: a process that dies in between finds the episode's end once more.
        actions=(
            *_leftovers(seen, state),
            *_gate(seen, state),
            *(OpenGate(wait=wait) for wait in state.waits.opened),
            *_isolation(seen, state, answer),
            *answer.actions,
            *_children(seen),
        ),
        records=records,
        usage=state.usage,
        attempt_results=state.attempt_results,
        over=state.over,
        notes=tuple(_notes(seen, state, answer, records)),
        syncs=state.syncs,
        wait=answer.wait,
        conflicts=state.conflicts,
        recheck_after=_recheck(seen, state, answer),
    )


def _children(seen: Observed) -> Iterator[Action]:
    """One child object per entry, equal to it; none besides."""
    if seen.package.metadata.deletion_timestamp:
        return
    package = seen.package.metadata.name
    existing = {child.metadata.name: child for child in seen.subtasks}
    wanted = {subtask_name(package, entry.id): entry for entry in seen.package.spec.subtasks}
    for name, entry in wanted.items():
        if name not in existing:
            yield CreateSubtask(entry=entry)
        elif existing[name].spec != child_spec(entry, package):
            yield UpdateSubtask(name=name, entry=entry)
    for name, child in existing.items():
        if name not in wanted and child.metadata.deletion_timestamp is None:
            yield DeleteSubtask(name=name, uid=child.metadata.uid)


def child_spec(entry: SubtaskEntry, package: str) -> SubtaskObjectSpec:
    """Return the spec of the child object of `entry`."""
    return SubtaskObjectSpec.model_validate({**dict(entry), "work_package_name": package})


def _gate(seen: Observed, state: PackageState) -> Iterator[Action]:
    known, secret = seen.shared_limits.gate, credential_of(seen)
    wanted = gate_after(seen, state)
    if secret is None or wanted == known:
        return
    name = seen.shared_limits.gate_class or seen.package.spec.agent_class_name
    yield SetGate(class_name=name, secret_name=secret, known=known, gate=wanted)


def _isolation(seen: Observed, state: PackageState, answer: RuleResult) -> Iterator[Action]:
    """Before anything starts, and for as long as anything runs."""
    starts = any(isinstance(item, StartEpisode | StartSync) for item in answer.actions)
    if not seen.isolated and (starts or state.live or state.syncs.live):
        yield Isolate()


def _leftovers(seen: Observed, state: PackageState) -> Iterator[Action]:
    """Jobs of subtasks that are gone, and Jobs that hang although their end is recorded.

    A Job whose containers all run or have ended goes by itself, and keeps its log till then.
    """
    records = state.by_id()
    just_settled = {item.episode.name for item in state.attempt_results}
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


def _recheck(seen: Observed, state: PackageState, answer: RuleResult) -> timedelta | None:
    looks = [answer.recheck_after] if answer.recheck_after is not None else []
    for episode, live in state.live:
        starting = episode.pod is None or episode.pod.phase == "Pending" or live.problem
        soon = LOOK_AT_START if seen.now - episode.created < SLOW_START else LOOK_AT_SLOW_START
        looks.append(soon if starting and not live.queued else LOOK_AT_RUN)
    if answer.records or any(isinstance(item, StartSync) for item in answer.actions):
        looks.append(LOOK_AT_START)
    if state.syncs.live:
        looks.append(LOOK_AT_START)
    if any(_outlives_its_end(seen, state)):
        looks.append(LEFT_BEHIND_AFTER)
    return min(looks, default=None)


def _outlives_its_end(seen: Observed, state: PackageState) -> Iterator[Episode]:
    """The episodes whose Jobs go on: what keeps them may be a container that never ends.

    No event tells of that, and any other may come first: each step says anew when to look.
    """
    live = [episode for episode, _ in state.live]
    live += [state.syncs.live] if state.syncs.live else []
    names = {episode.name for episode in live}
    for episode in seen.episodes:
        if not episode.finished and not episode.deleting and episode.name not in names:
            yield episode


def _notes(
    seen: Observed, state: PackageState, answer: RuleResult, records: tuple[SubtaskRecord, ...]
) -> Iterator[Note]:
    for attempt_result in state.attempt_results:
        ended, subtask = attempt_result.ended, attempt_result.member.subtask
        if attempt_result.episode.uid and not ended.begun:
            continue
        good = ended.outcome is Outcome.SUCCESS
        said = ended.message or ("The acceptance command passed." if good else "")
        message = f"{subtask}: {said}"
        yield Note(
            type="Normal" if good else "Warning",
            reason=str(ended.outcome),
            message=message,
            subtask=subtask,
        )
    old = {record.id: record.attempts for record in seen.package.status.subtasks}
    for record in records:
        if record.phase is SubtaskPhase.RUNNING and record.attempts > old.get(record.id, 0):
            yield Note(
                type="Normal",
                reason="EpisodeStarted",
                message=f"{record.id}: a fresh agent works on it.",
                subtask=record.id,
            )
    before = seen.package.status
    if (answer.phase, answer.reason) != (before.phase, before.reason):
        good = answer.phase in (PackagePhase.RUNNING, PackagePhase.SUCCEEDED, PackagePhase.QUEUED)
        yield Note(
            type="Normal" if good or answer.phase is PackagePhase.SUSPENDED else "Warning",
            reason=answer.reason,
            message=answer.message,
        )

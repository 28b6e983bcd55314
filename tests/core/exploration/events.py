"""What can happen to a small world by itself: an episode ends, a queue holds it, time passes.

Every event is a name, who brings it about, and a function that returns the new world, or None
where it cannot happen.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from afresh.contract.outcomes import WAIT_BOUND, is_overdue
from afresh.contract.report import Report, Result, Usage
from afresh.contract.words import Outcome
from afresh.core.history.plan_state import wanted_digest
from afresh.core.history.replay import replay
from afresh.core.observed import ContainerState, Episode
from tests.core.exploration.world import World, running_pod

BUDGET_TOKENS = 5000

Change = Callable[[World], World | None]


class Cause(StrEnum):
    """Who brings an event about."""

    LOOP = "loop"  # an episode, the cluster, or time
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that may happen. `name` is a few words for an edge of a diagram."""

    name: str
    cause: Cause
    change: Change


def ends() -> Iterator[Event]:
    """Every way in which the first running episode can end."""
    for outcome in Outcome:
        yield Event(outcome, Cause.LOOP, _ended(outcome))
    yield Event("NoChanges, and none needed", Cause.LOOP, _ended(Outcome.NO_CHANGES, "c0ffee"))


def ends_of_each_kind() -> Iterator[Event]:
    """One end for each thing that can follow from one."""
    for outcome in (
        Outcome.SUCCESS,
        Outcome.VERIFY_FAILED,
        Outcome.OUT_OF_SCOPE,
        Outcome.TRANSIENT,
        Outcome.INFRASTRUCTURE,
        Outcome.CONFIG,
        Outcome.BUDGET_EXCEEDED,
    ):
        yield Event(outcome, Cause.LOOP, _ended(outcome))


def silences() -> Iterator[Event]:
    """A model that says nothing, and one that answers again."""
    for outcome in (Outcome.MODEL_SILENT, Outcome.SUCCESS):
        yield Event(outcome, Cause.LOOP, _ended(outcome))


def queueing() -> Iterator[Event]:
    """What Kueue and people with rights on Jobs do with the Job of an episode."""
    yield Event("the queue holds the Job", Cause.LOOP, _of_episode(_queued))
    yield Event("the queue admits the Job", Cause.LOOP, _of_episode(_admitted))
    yield Event("the Job is deleted", Cause.LOOP, _job_deleted)


def scheduling() -> Iterator[Event]:
    """What the scheduler does with the pod of an episode."""
    yield Event("no node for the pod", Cause.LOOP, _of_episode(_unschedulable))
    yield Event("the pod runs", Cause.LOOP, _of_episode(_runs))


def batching() -> Iterator[Event]:
    """How a batch goes on, and how it ends."""
    yield Event("its turn in the batch", Cause.LOOP, _first_of_batch_done)
    for outcome in (Outcome.SUCCESS, Outcome.VERIFY_FAILED, Outcome.INFRASTRUCTURE):
        yield Event(outcome, Cause.LOOP, _ended(outcome))


def looking() -> Iterator[Event]:
    """What an episode finds of the subtasks before its own."""
    yield Event(Outcome.SUCCESS, Cause.LOOP, _ended(Outcome.SUCCESS))
    yield Event("a commit is missing", Cause.LOOP, _commit_missing)


def time_passes() -> Iterator[Event]:
    """The loop looks once more, now or when what it waits for is over."""
    yield Event("the wait is over", Cause.LOOP, _wait_over)
    yield Event("nothing", Cause.LOOP, lambda world: world)


def hours() -> Iterator[Event]:
    """What fails goes on failing for longer than waits may last without a person."""
    yield Event("an hour later", Cause.LOOP, _hour_later)


def _hour_later(world: World) -> World | None:
    if not waiting_since(world) or is_overdue_in(world):
        return None
    return replace(world, now=world.now + WAIT_BOUND)


def waiting_since(world: World) -> list[datetime]:
    """Return since when the package waits for something outside, for each such thing."""
    known = (world.gate and world.gate.since, world.wait and world.wait.since)
    roomless = (
        episode.created
        for episode in world.episodes
        if not episode.finished and episode.pod and episode.pod.unschedulable
    )
    return [since for since in (*known, world.package.status.waiting_since, *roomless) if since]


def is_overdue_in(world: World) -> bool:
    """Whether the package waits for longer than it may without a person."""
    return any(is_overdue(since, world.now) for since in waiting_since(world))


def _episode(world: World) -> Episode | None:
    return next((i for i in world.episodes if i.members and not i.finished), None)


def _of_episode(change: Callable[[Episode], Episode | None]) -> Change:
    def apply(world: World) -> World | None:
        episode = _episode(world)
        changed = change(episode) if episode else None
        return _with_episode(world, changed) if changed else None

    return apply


def _with_episode(world: World, changed: Episode) -> World:
    kept = tuple(changed if item.uid == changed.uid else item for item in world.episodes)
    return replace(world, episodes=kept)


def _ended(outcome: Outcome, commit: str | None = None) -> Change:
    done = commit or ("c0ffee" if outcome is Outcome.SUCCESS else None)

    def end(world: World) -> World | None:
        episode = _episode(world)
        if episode is None or episode.suspended:
            return None
        known = episode.report.results if episode.report else ()
        here = next(m.subtask for m in episode.members if m.subtask not in {r.id for r in known})
        result = Result(id=here, outcome=outcome, commit=done, message="Because.")
        report = Report(
            episode=episode.name,
            stage="reported",
            final=True,
            results=(*known, result),
            usage=_usage(outcome),
        )
        over = replace(
            episode,
            complete=True,
            pod=running_pod(agent=ContainerState.TERMINATED),
            report=report,
        )
        ended = _with_episode(world, over)
        if outcome in _PUSHES_NOTHING:
            return ended
        pushed = replace(report, plan_digest=_plan_after(ended))
        return _with_episode(world, replace(over, report=pushed))

    return end


_UNANSWERED = frozenset({Outcome.TRANSIENT, Outcome.MODEL_SILENT})
_PUSHES_NOTHING = _UNANSWERED | {Outcome.INFRASTRUCTURE, Outcome.CANCELLED}


def _usage(outcome: Outcome) -> Usage:
    if outcome in _UNANSWERED:
        return Usage()
    return Usage(turns=1, input_tokens=BUDGET_TOKENS if outcome is Outcome.BUDGET_EXCEEDED else 0)


def _plan_after(world: World) -> str:
    """The digest of the plan that the runner pushes: it knows what its result makes of it."""
    return wanted_digest(world.package, replay(world.seen()).records)


def _first_of_batch_done(world: World) -> World | None:
    episode = _episode(world)
    if episode is None or len(episode.members) < 2 or episode.report or episode.suspended:
        return None
    first = Result(id=episode.members[0].subtask, outcome=Outcome.SUCCESS, commit="c0ffee")
    report = Report(episode=episode.name, stage="pushed", results=(first,))
    return _with_episode(world, replace(episode, report=report))


def _commit_missing(world: World) -> World | None:
    found = {record.commit for record in world.package.status.subtasks if record.commit}
    ended = _ended(Outcome.CANCELLED)(world)
    if ended is None or not found:
        return None
    reports = ((item, item.report) for item in ended.episodes)
    given = (
        replace(item, report=replace(report, missing=tuple(found))) if report else item
        for item, report in reports
    )
    return replace(ended, episodes=tuple(given))


def _job_deleted(world: World) -> World | None:
    episode = _episode(world)
    if episode is None:
        return None
    return replace(world, episodes=tuple(i for i in world.episodes if i is not episode))


def _queued(episode: Episode) -> Episode | None:
    return None if episode.suspended else replace(episode, suspended=True, pod=None)


def _admitted(episode: Episode) -> Episode | None:
    return replace(episode, suspended=False, pod=running_pod()) if episode.suspended else None


def _unschedulable(episode: Episode) -> Episode | None:
    if episode.suspended:
        return None
    pod = replace(running_pod(), phase="Pending", unschedulable="No node fits.", containers=())
    return replace(episode, pod=pod)


def _runs(episode: Episode) -> Episode | None:
    waits = episode.pod is not None and episode.pod.unschedulable
    return replace(episode, pod=running_pod()) if waits else None


def _wait_over(world: World) -> World | None:
    status = world.package.status
    waits = [record.not_before for record in status.subtasks]
    waits += [status.plan_sync.not_before] if status.plan_sync else []
    waits += [world.gate.until] if world.gate else []
    ahead = [time for time in waits if time and time > world.now]
    return replace(world, now=min(ahead)) if ahead else None

"""Explores what the loop really does: every event in every small world that can be reached.

Runs `replay`, `decide` and the status themselves and collects the changes of phase. Worlds that
differ in nothing that the loop tells apart are visited once.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from afresh.api.package_status import SubtaskRecord
from afresh.contract.outcomes import MOST_SILENCES, TABLE
from afresh.contract.words import Outcome
from afresh.core.history.budget import is_spent
from afresh.core.history.plan_state import wanted_digest
from afresh.core.history.replay import replay
from afresh.core.observed import Episode
from afresh.core.reason_table import Subject
from afresh.core.reasons import Reason
from tests.core.exploration.breakages import breakages, created_in, crowding
from tests.core.exploration.edits import answers, edits, raised_limits, requests
from tests.core.exploration.events import (
    BUDGET_TOKENS,
    Cause,
    Event,
    batching,
    ends,
    ends_of_each_kind,
    hours,
    is_overdue_in,
    looking,
    queueing,
    scheduling,
    silences,
    time_passes,
)
from tests.core.exploration.world import World, after_decision, decided, new_world


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """One change of a phase that occurred. No `source`: it came to be; no `target`: it went."""

    source: str
    target: str
    reason: str
    event: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class Explored:
    """What occurred: the changes, and each (subject, phase, reason) that was seen."""

    subtasks: frozenset[Change]
    packages: frozenset[Change]
    facts: frozenset[tuple[Subject, str, str]]


@cache
def explored() -> Explored:
    """Explore families of small worlds, each with the events that matter to it."""
    core = [*ends_of_each_kind(), *time_passes()]
    life = [*ends(), *queueing(), *time_passes(), *edits()]
    whole = [*core, *queueing(), *answers(), *requests(), *raised_limits(), *breakages()]
    crowded = [*core, *scheduling(), *crowding()]
    batch = [*batching(), *time_passes()]
    one: dict[str, Any] = {"second": {"skip": True}, "maxConsecutiveFailures": 1}
    limits: dict[str, Any] = {"maxEpisodes": 2, "budget": {"maxTokens": BUDGET_TOKENS}}
    two: dict[str, Any] = {"second": {}, "context": {"mode": "Persistent"}}
    parts = [
        _explore(new_world(**one | {"maxConsecutiveFailures": 2}), life),
        _explore(new_world(**one, **limits), whole),
        _explore(new_world(**one), crowded),
        _explore(new_world(**two, maxConsecutiveFailures=1), batch),
        _explore(new_world(second={}), [*looking(), *time_passes()]),
        _explore(new_world(**one), [*silences(), *time_passes()]),
        _explore(new_world(**one), [*core, *scheduling(), *hours()]),
        _created(created_in(new_world(second={}))),
        _created([new_world(second={}, suspend=True)]),
    ]
    return Explored(
        subtasks=frozenset().union(*(part.subtasks for part in parts)),
        packages=frozenset().union(*(part.packages for part in parts)),
        facts=frozenset().union(*(part.facts for part in parts)),
    )


CREATED = Event("created", Cause.PERSON, lambda world: world)


def _created(worlds: Iterable[World]) -> Explored:
    """Only the first look at each world."""
    diary = _Diary()
    for world in worlds:
        diary.look(world, CREATED)
    return diary.explored()


def _explore(start: World, events: Sequence[Event]) -> Explored:
    diary = _Diary()
    first = diary.look(start, CREATED)
    known, waiting = {_key(first)}, deque([first])
    while waiting:
        world = waiting.popleft()
        for event in _possible(world, events):
            changed = event.change(world)
            if changed is None or _stalled_key(changed) in known:
                continue
            after = diary.look(changed, event)
            key = _stalled_key(after) or _key(after)
            if key not in known:
                known.add(key)
                waiting.append(after)
    return diary.explored()


def _possible(world: World, events: Sequence[Event]) -> Sequence[Event]:
    """A deleted package has no future here, and a broken one none but its remedy, or time."""
    if world.package.metadata.deletion_timestamp:
        return ()
    return (*breakages(), *hours()) if _stalled_key(world) else events


def _stalled_key(world: World) -> tuple[object, ...] | None:
    """Of worlds in which the same stalls a package in the same phase, one is enough."""
    if not world.broken or world.refuses or world.busy:
        return None
    return world.broken, world.broken_in, world.package.spec.suspend, is_overdue_in(world)


class _Diary:
    """Lets the loop look once, and notes what it changes."""

    def __init__(self) -> None:
        self.subtasks: set[Change] = set()
        self.packages: set[Change] = set()
        self.facts: set[tuple[Subject, str, str]] = set()

    def look(self, world: World, event: Event) -> World:
        seen = world.seen()
        old, state, decision = world.package.status, replay(seen), decided(world)
        begun = (*state.records, *state.removed)
        self._note_subtasks(old.subtasks, begun, event)
        self._note_subtasks(begun, decision.records, event)
        for item in decision.attempt_results:
            self.facts.add((Subject.EPISODE, "", str(item.ended.outcome)))
        self.facts.add((Subject.PACKAGE, decision.phase, str(decision.reason)))
        source = old.phase or ""
        if decision.phase != source:
            self.packages.add(
                Change(source, decision.phase, str(decision.reason), event.name, event.cause)
            )
        return after_decision(world, decision)

    def explored(self) -> Explored:
        """Return what was noted."""
        return Explored(
            subtasks=frozenset(self.subtasks),
            packages=frozenset(self.packages),
            facts=frozenset(self.facts),
        )

    def _note_subtasks(
        self, old: Iterable[SubtaskRecord], new: Iterable[SubtaskRecord], event: Event
    ) -> None:
        before = {record.id: record for record in old}
        for record in new:
            self.facts.add((Subject.SUBTASK, record.phase, record.reason))
            source = _phase(before.get(record.id))
            if _phase(record) != source:
                self.subtasks.add(
                    Change(source, _phase(record), record.reason, event.name, event.cause)
                )


def _phase(record: SubtaskRecord | None) -> str:
    """Where a subtask is; one that is not in the package is nowhere."""
    return "" if record is None or record.reason == Reason.REMOVED else str(record.phase)


def _key(world: World) -> tuple[object, ...]:
    """What the loop tells worlds apart by."""
    package, status = world.package, world.package.status
    known = {entry.id for entry in package.spec.subtasks}
    records = [record for record in status.subtasks if record.id in known]
    if package.metadata.deletion_timestamp:
        return (status.phase, Reason.BEING_DELETED)
    return (
        status.phase,
        _kind(status.reason),
        package.spec.suspend,
        min(package.spec.max_episodes - status.usage.episodes, 2),
        is_spent(package.spec.budget, status.usage),
        status.plan_digest == wanted_digest(package, records),
        world.gate and world.gate.until > world.now,
        is_overdue_in(world),
        world.broken,
        tuple((entry.id, entry.skip) for entry in package.spec.subtasks),
        tuple(_record_key(record, world) for record in status.subtasks),
        tuple(_episode_key(episode) for episode in world.episodes),
    )


def _record_key(record: SubtaskRecord, world: World) -> tuple[object, ...]:
    waits = record.not_before is not None and record.not_before > world.now
    failures = record.consecutive_failures
    silences = min(record.silences or 0, MOST_SILENCES)
    return record.id, record.phase, _kind(record.reason), failures, silences, waits


def _episode_key(episode: Episode) -> tuple[object, ...]:
    waits = bool(episode.pod and episode.pod.unschedulable)
    return episode.subtasks, episode.suspended, waits, episode.report is None


_KINDS: dict[str, object] = {outcome: TABLE[outcome] for outcome in Outcome}


def _kind(reason: str) -> object:
    """Outcomes from which the same follows are one, but for those that halt the package."""
    own = (Outcome.OUT_OF_SCOPE, Outcome.MODEL_SILENT)
    return reason if reason in own else _KINDS.get(reason, reason)

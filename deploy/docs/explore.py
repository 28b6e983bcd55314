"""Explores what the loop really does: every event in every small world that can be reached.

Runs `stand`, `decide` and the status themselves and collects the changes of phase. Worlds that
differ in nothing that the loop tells apart are visited once.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from afresh.api.package_status import SubtaskRecord
from afresh.contract.words import Outcome
from afresh.core.budget import is_spent
from afresh.core.outcome import TABLE
from afresh.core.plan_sync import wanted_digest
from afresh.core.reason_table import Subject
from afresh.core.reasons import Reason
from afresh.core.settle import stand
from deploy.docs.breakages import breakages, crowding
from deploy.docs.events import (
    BUDGET_TOKENS,
    Cause,
    Event,
    answers,
    circumstances,
    edits,
    ends,
    ends_of_each_kind,
    pauses,
    raised_limits,
    requests,
    time_passes,
)
from deploy.docs.world import World, after_decision, decided, new_world


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
    """Explore five families of small worlds, each with the events that matter to it."""
    life = [*ends(), *circumstances(), *time_passes(), *edits()]
    core = [*ends_of_each_kind(), *time_passes()]
    whole = [*core, *circumstances(), *answers(), *requests(), *breakages()]
    tight = [*core, *answers(), *pauses(), *raised_limits()]
    crowded = [*core, *answers(), *crowding()]
    batch = [*core, *circumstances()]
    alone = {"second": {"skip": True}, "maxConsecutiveFailures": 1}
    twice = alone | {"maxConsecutiveFailures": 2}
    limits = {"maxEpisodes": 2, "budget": {"maxTokens": BUDGET_TOKENS}}
    parts = [
        _explore(new_world(**twice, maxEpisodes=10_000), life),
        _explore(new_world(**alone, maxEpisodes=10_000), whole),
        _explore(new_world(**alone, **limits), tight),
        _explore(new_world(**alone, maxEpisodes=10_000), crowded),
        _explore(new_world(second={}, context={"mode": "Persistent"}, maxConsecutiveFailures=1, maxEpisodes=10_000), batch),
    ]
    return Explored(
        subtasks=frozenset().union(*(part.subtasks for part in parts)),
        packages=frozenset().union(*(part.packages for part in parts)),
        facts=frozenset().union(*(part.facts for part in parts)),
    )


def _explore(start: World, events: Sequence[Event]) -> Explored:
    diary = _Diary()
    first = diary.look(start, Event("created", Cause.PERSON, lambda world: world))
    known, waiting = {_key(first)}, deque([first])
    while waiting:
        world = waiting.popleft()
        for event in _possible(world, events):
            changed = event.change(world)
            if changed is None:
                continue
            after = diary.look(changed, event)
            key = _key(after)
            if key not in known:
                known.add(key)
                waiting.append(after)
    return Explored(
        subtasks=frozenset(diary.subtasks),
        packages=frozenset(diary.packages),
        facts=frozenset(diary.facts),
    )


def _possible(world: World, events: Sequence[Event]) -> Sequence[Event]:
    """A deleted package has no future here, and a broken one none but its mend."""
    if world.package.metadata.deletion_timestamp:
        return ()
    return tuple(breakages()) if world.broken and not (world.refuses or world.busy) else events


class _Diary:
    """Lets the loop look once, and notes what it changes."""

    def __init__(self) -> None:
        self.subtasks: set[Change] = set()
        self.packages: set[Change] = set()
        self.facts: set[tuple[Subject, str, str]] = set()

    def look(self, world: World, event: Event) -> World:
        seen = world.seen()
        old, standing, decision = world.package.status, stand(seen), decided(world)
        begun = (*standing.records, *standing.removed)
        self._note_subtasks(old.subtasks, begun, event)
        self._note_subtasks(begun, decision.records, event)
        for item in decision.settlements:
            self.facts.add((Subject.EPISODE, "", str(item.ended.outcome)))
        self.facts.add((Subject.PACKAGE, decision.phase, str(decision.reason)))
        source = old.phase or ""
        if decision.phase != source:
            self.packages.add(
                Change(source, decision.phase, str(decision.reason), event.name, event.cause)
            )
        return after_decision(world, decision)

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
    left = package.spec.max_episodes - status.usage.episodes
    return (
        status.phase,
        _kind(status.reason),
        package.spec.suspend,
        package.metadata.deletion_timestamp is not None,
        left > 0,
        is_spent(package.spec.budget, status.usage),
        status.plan_digest == wanted_digest(package, seen_records(world)),
        world.gate is not None and (world.gate.until > world.now),
        world.gate is None,
        world.broken,
        tuple((entry.id, entry.skip) for entry in package.spec.subtasks),
        tuple(_record_key(record, world) for record in status.subtasks),
        tuple(
            (item.subtasks, item.suspended, bool(item.pod and item.pod.unschedulable), item.report is None, bool(item.probe))
            for item in world.episodes
        ),
    )


def seen_records(world: World) -> list[SubtaskRecord]:
    known = {entry.id for entry in world.package.spec.subtasks}
    return [record for record in world.package.status.subtasks if record.id in known]


def _record_key(record: SubtaskRecord, world: World) -> tuple[object, ...]:
    waits = record.not_before is not None and record.not_before > world.now
    failures = record.consecutive_failures
    return record.id, record.phase, _kind(record.reason), failures, waits


def _kind(reason: str) -> object:
    """Outcomes from which the same follows are one, but for the one that halts the package."""
    if reason not in set(Outcome) or reason == Outcome.OUT_OF_SCOPE:
        return reason
    return TABLE[Outcome(reason)]


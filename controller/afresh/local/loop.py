"""The loop for one package of a clone: observe, decide, act, write the status.

Ends when the package does, or when nothing can go on without a person.
"""

import os
import select
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import assert_never

from afresh import clock
from afresh.api.agent_class import AgentClass, Gate
from afresh.api.phases import PackagePhase
from afresh.api.work_package import WorkPackage
from afresh.core.decision import (
    Action,
    CreateSubtask,
    Decision,
    DeleteJob,
    DeleteSubtask,
    Isolate,
    OpenGate,
    SetGate,
    StartEpisode,
    StartSync,
    UpdateSubtask,
)
from afresh.core.history.shared_causes import keys_of
from afresh.core.history.shared_waits import probe_text
from afresh.core.history.transitions import IN_EPISODE, knows_end
from afresh.core.observed import Episode, Observed, SharedLimits
from afresh.core.planner import child_spec, decide
from afresh.core.reasons import Reason
from afresh.core.status import package_status, subtask_statuses
from afresh.local.episodes import Episodes
from afresh.local.store import PackageStore
from afresh.manifests.subtask import build_subtask

LOOK_SECONDS = 1.0
LEAST_SECONDS = 0.02
INTERRUPTED = "The run was interrupted; afresh run goes on from here."


@dataclass
class LocalLoop:
    """The loop's body. All state is in the files of `store` and of `episodes`."""

    store: PackageStore
    episodes: Episodes
    is_draining: bool = False
    """Whether nothing new may start."""

    def step(self) -> tuple[Observed, Decision]:
        """Take one step towards what the package asks for."""
        seen, decision = self._decide()
        missing = [item for item in decision.actions if isinstance(item, CreateSubtask)]
        for new in missing:
            self._apply(seen, new)
        if missing:
            seen, decision = self._decide()
        # An episode is written down before it runs, so a run that ends here is taken up again.
        for action in decision.actions:
            self._apply(seen, action)
        self._write(seen, decision)
        for name in _recorded(seen, decision):
            self.episodes.forget(name)
        return seen, decision

    def take_over(self) -> None:
        """Begin where a former run has ended: nothing of it is left, and nothing waits."""
        self.store.clear()
        self.episodes.take_over()
        package = self.store.package()
        was_cut_short = bool(self.episodes.observe())
        if was_cut_short or _waits_for_something(package):
            self.store.ask_retry(clock.now().isoformat(timespec="microseconds"))

    def wait(self, most: timedelta | None, interrupt: int) -> None:
        """Wait until an episode ends, `interrupt` becomes readable, or for a while."""
        seconds = min(LOOK_SECONDS, most.total_seconds()) if most else LOOK_SECONDS
        if self.episodes.have_ended:
            seconds = 0.0
        descriptors = self.episodes.descriptors()
        try:
            select.select([*descriptors, interrupt], (), (), max(seconds, LEAST_SECONDS))
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def observe(self) -> Observed:
        """Return the package and everything that a decision on it may use."""
        agent_class, package = self.store.agent_class(), self.store.package()
        episodes = self.episodes.observe()
        return Observed(
            now=clock.now(),
            package=package,
            agent_class=agent_class,
            subtasks=self.store.subtasks(),
            episodes=episodes,
            shared_limits=_limits(package, agent_class, episodes)
            if agent_class
            else SharedLimits(),
        )

    def _decide(self) -> tuple[Observed, Decision]:
        seen = self.observe()
        if not self.is_draining:
            return seen, decide(seen)
        spec = seen.package.spec.model_copy(update={"suspend": True})
        seen = replace(seen, package=seen.package.model_copy(update={"spec": spec}))
        decision = decide(seen)
        if decision.phase is PackagePhase.SUSPENDED:
            decision = replace(decision, reason=Reason.SUSPENDED, message=INTERRUPTED)
        return seen, decision

    def _apply(self, seen: Observed, action: Action) -> None:
        match action:
            case StartEpisode() | StartSync():
                self.episodes.start(action, _pids_limit(seen))
            case CreateSubtask():
                self.store.put_subtask(build_subtask(seen.package, action.entry))
            case UpdateSubtask():
                spec = child_spec(action.entry, seen.package.metadata.name).to_manifest()
                child = next(c for c in seen.subtasks if c.metadata.name == action.name)
                self.store.put_subtask(child.to_manifest() | {"spec": spec})
            case DeleteSubtask():
                self.store.delete_subtask(action.name)
            case DeleteJob():
                self.episodes.stop(action.name)
            case SetGate():
                self._set_gate(seen, action.gate)
            case Isolate() | OpenGate():
                pass  # nobody else is here
            case _:
                assert_never(action)

    def _set_gate(self, seen: Observed, gate: Gate | None) -> None:
        if seen.agent_class:
            status = seen.agent_class.status
            self.store.put_class_status(
                status.model_copy(update={"gates": (gate,) if gate else ()})
            )

    def _write(self, seen: Observed, decision: Decision) -> None:
        """Write the history first: it is appended by attempt, so writing it twice is harmless."""
        for name, child in subtask_statuses(seen, decision).items():
            self.store.put_subtask_status(name, child)
        status = package_status(seen, decision)
        if status != seen.package.status:
            self.store.put_package_status(status)


def _pids_limit(seen: Observed) -> int:
    if seen.agent_class is None:
        raise AssertionError("nothing starts without a class")
    return seen.package.spec.pids_limit or seen.agent_class.spec.pids_limit


def _recorded(seen: Observed, decision: Decision) -> Iterator[str]:
    """Yield the names of the ended episodes whose end is in the status."""
    records = {record.id: record for record in decision.records}
    sync = decision.syncs.record
    for episode in seen.episodes:
        known = [(records.get(member.subtask), member) for member in episode.members]
        is_known = all(record is None or knows_end(record, member) for record, member in known)
        if not episode.members:
            is_known = sync is not None and episode.attempt <= sync.attempts
        if episode.finished and is_known:
            yield episode.name


def _waits_for_something(package: WorkPackage) -> bool:
    """Whether a person who runs the package again has it try what would wait by itself."""
    status = package.status
    is_late = any(record.not_before for record in status.subtasks)
    is_late = is_late or bool(status.plan_sync and status.plan_sync.not_before)
    has_begun = any(record.phase in IN_EPISODE for record in status.subtasks)
    return is_late or has_begun or bool(status.wait) or status.phase is PackagePhase.STALLED


def _limits(
    package: WorkPackage, agent_class: AgentClass, episodes: tuple[Episode, ...]
) -> SharedLimits:
    """Return the limits of the package's own class: no other package shares its gates."""
    live = [episode for episode in episodes if not episode.finished]
    credentials, most = agent_class.spec.credentials, agent_class.spec.max_concurrent_episodes
    gates = [
        gate
        for gate in agent_class.status.gates
        if credentials and gate.secret_name == credentials.secret_name
    ]
    wait = package.status.wait
    is_concerned = wait is not None and (wait.cause, wait.key) in {
        (str(cause), key) for cause, key in keys_of(package, agent_class)
    }
    closed = (wait,) if wait and is_concerned else ()
    return SharedLimits(
        gate=max(gates, key=lambda gate: gate.until, default=None),
        gate_class=agent_class.metadata.name if gates else "",
        class_free=None if most is None else max(most - sum(bool(e.members) for e in live), 0),
        waits=closed,
        tried=frozenset(
            (item.cause, item.key)
            for item in closed
            if any(e.name == item.episode or e.probe == probe_text(item) for e in live)
        ),
    )

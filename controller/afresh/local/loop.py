"""The loop for one package of a clone: observe, decide, act, write the status.

Ends when the package does, or when nothing can go on without a person.
"""

import os
import select
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import assert_never

from afresh import clock
from afresh.api.agent_class import Gate
from afresh.api.phases import PackagePhase
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
from afresh.core.observed import Observed, SharedLimits
from afresh.core.planner import child_spec, decide
from afresh.core.reasons import Reason
from afresh.core.status import package_status, subtask_statuses
from afresh.local.episodes import Episodes
from afresh.local.store import PackageStore
from afresh.manifests.subtask import build_subtask

LOOK_SECONDS = 1.0
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
        self._write(seen, decision)
        # What is started is in the status before it runs: a kill in between costs an attempt's
        # number, and never runs anything twice.
        for action in decision.actions:
            self._apply(seen, action)
        for result in decision.over:
            self.episodes.forget(result.episode.name)
        return seen, decision

    def wait(self, most: timedelta | None, interrupt: int) -> None:
        """Wait until a process ends, `interrupt` becomes readable, or for a while."""
        seconds = min(LOOK_SECONDS, most.total_seconds()) if most else LOOK_SECONDS
        descriptors = self.episodes.descriptors()
        watched = descriptors if self.is_draining else [*descriptors, interrupt]
        try:
            select.select(watched, (), (), max(seconds, 0.01))
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def observe(self) -> Observed:
        """Return the package and everything that a decision on it may use."""
        agent_class = self.store.agent_class()
        gates = agent_class.status.gates if agent_class else ()
        return Observed(
            now=clock.now(),
            package=self.store.package(),
            agent_class=agent_class,
            subtasks=self.store.subtasks(),
            episodes=self.episodes.observe(),
            shared_limits=SharedLimits(
                gate=next(iter(gates), None),
                gate_class=agent_class.metadata.name if agent_class and gates else "",
            ),
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
                limit = seen.package.spec.pids_limit
                of_class = seen.agent_class.spec.pids_limit if seen.agent_class else 512
                self.episodes.start(action, limit or of_class)
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

"""The situation of a package: every fact that a rule may use, computed once. Pure.

This module owns which subtasks are ready and which are due. Rules read these facts and do not
compute them again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from afresh.api.agent_class import AgentClass, Gate
from afresh.api.package_status import SubtaskRecord, UsageStatus
from afresh.api.subtask import SubtaskEntry
from afresh.api.work_package import WorkPackage, WorkPackageSpec
from afresh.core.history import budget, graph
from afresh.core.history.classify import Running
from afresh.core.history.credential_gate import gate_after
from afresh.core.history.plan_state import unpushed_plan
from afresh.core.history.replay import PackageState, replay
from afresh.core.history.shared_waits import Waits, concerns
from afresh.core.history.transitions import Syncs, is_due
from afresh.core.observed import Episode, Observed, SharedLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The observation, the state derived from it, and the facts about the next step.

    `gate` is the credential's gate after all finished episodes; None: it is open. `ready` are the
    pending subtasks whose dependencies are satisfied. `due` are the ready ones that need not wait
    and that the budget can pay for. `unconcerned` are the due ones to which no closed gate of a
    shared cause applies. All are in list order. `unpushed_plan` is the digest of the plan that the
    branch should have but lacks.
    """

    seen: Observed
    state: PackageState
    gate: Gate | None
    ready: tuple[SubtaskEntry, ...]
    due: tuple[SubtaskEntry, ...]
    unconcerned: tuple[SubtaskEntry, ...]
    unpushed_plan: str | None

    @property
    def now(self) -> datetime:
        """The time of the observation."""
        return self.seen.now

    @property
    def package(self) -> WorkPackage:
        """The package itself."""
        return self.seen.package

    @property
    def spec(self) -> WorkPackageSpec:
        """The package's spec."""
        return self.seen.package.spec

    @property
    def agent_class(self) -> AgentClass | None:
        """The class that the package names; None: it does not exist."""
        return self.seen.agent_class

    @property
    def limits(self) -> SharedLimits:
        """The limits that the package shares with others."""
        return self.seen.shared_limits

    @property
    def obstacle(self) -> str | None:
        """The API server's refusal of the actions just tried."""
        return self.seen.obstacle

    @property
    def records(self) -> tuple[SubtaskRecord, ...]:
        """The record of every subtask, in list order."""
        return self.state.records

    @property
    def by_id(self) -> Mapping[str, SubtaskRecord]:
        """The records by subtask id."""
        return self.state.by_id

    @property
    def live(self) -> tuple[tuple[Episode, Running], ...]:
        """The live episodes."""
        return self.state.live

    @property
    def usage(self) -> UsageStatus:
        """The tokens, cost and episodes that the package has used so far."""
        return self.state.usage

    @property
    def syncs(self) -> Syncs:
        """The state of the syncs."""
        return self.state.syncs

    @property
    def waits(self) -> Waits:
        """The gates of shared causes that block the package."""
        return self.state.waits

    def message_of(self, record: SubtaskRecord) -> str:
        """Return the record's full message."""
        return self.state.message_of(record)


def situation_of(seen: Observed) -> Situation:
    """Compute the situation from `seen`."""
    state = replay(seen)
    ready = tuple(graph.ready(seen.package.spec.subtasks, state.by_id))
    due = tuple(
        entry
        for entry in ready
        if is_due(record := state.by_id[entry.id], seen.now)
        and budget.can_afford(seen.package.spec.budget, state.usage, record.insufficient)
    )
    closed = state.waits.closed
    return Situation(
        seen=seen,
        state=state,
        gate=gate_after(seen, state),
        ready=ready,
        due=due,
        unconcerned=tuple(
            entry for entry in due if not any(concerns(seen, wait, (entry.id,)) for wait in closed)
        ),
        unpushed_plan=unpushed_plan(seen, state),
    )

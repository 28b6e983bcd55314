"""A small world for the loop to run in: one package, its class and its episodes.

The child objects are left out: the loop writes them and never decides by them. Owns how decisions
change the world, as the cluster would; what happens to it besides is in `events`.
Imports the loop itself and nothing that stands in for it.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from afresh.api.agent_class import AgentClass, Gate
from afresh.api.package_status import SharedWait
from afresh.api.work_package import WorkPackage
from afresh.contract.order import Order
from afresh.contract.report import Report
from afresh.core.decision import Decision, DeleteJob, SetGate, StartEpisode, StartSync
from afresh.core.observed import (
    ContainerFacts,
    ContainerState,
    Episode,
    Member,
    Observed,
    PodFacts,
    SharedLimits,
)
from afresh.core.planner import decide
from afresh.core.status import package_status

FIRST, SECOND = "T001", "T002"
START = datetime(2030, 1, 1, tzinfo=UTC)
CONTAINERS = ("runner", "agent", "verify")


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything that the loop can observe.

    `broken` names the one thing that is wrong, if any; it went wrong in the phase `broken_in`.
    `refuses`: the API server does not let Jobs be created. `busy`: other packages run as many
    episodes as the class may have. `wait` is a shared cause that another package tries;
    `first_free` and `room` are what others leave of new Jobs.
    """

    package: WorkPackage
    agent_class: AgentClass | None
    episodes: tuple[Episode, ...] = ()
    gate: Gate | None = None
    rival: str | None = None
    refuses: bool = False
    busy: bool = False
    wait: SharedWait | None = None
    first_free: int | None = None
    room: int | None = None
    broken: str = ""
    broken_in: str = ""
    now: datetime = START

    def seen(self) -> Observed:
        """Return what the loop sees of it."""
        return Observed(
            now=self.now,
            package=self.package,
            agent_class=self.agent_class,
            rival=self.rival,
            episodes=self.episodes,
            shared_limits=SharedLimits(
                gate=self.gate,
                gate_class="claude",
                class_free=0 if self.busy else None,
                waits=(self.wait,) if self.wait else (),
                first_free=self.first_free,
                room=self.room,
            ),
        )


def new_world(*, second: dict[str, Any], **spec: Any) -> World:
    """Return a new package of two subtasks; `second` are the fields of the second one."""
    package = WorkPackage.model_validate(
        {
            "metadata": {"name": "demo", "namespace": "team-a", "uid": "uid", "generation": 1},
            "spec": {
                "agentClassName": "claude",
                "repository": {"url": "https://git.example.com/team/api.git"},
                "verify": {"command": ["make", "test"]},
                "subtasks": [
                    {"id": FIRST, "prompt": "Do it."},
                    {"id": SECOND, "prompt": "Do it.", **second},
                ],
                **spec,
            },
        }
    )
    return World(package=package, agent_class=new_class())


def new_class(**fields: Any) -> AgentClass:
    """Return a class whose model is reached through the gateway and has no price."""
    spec = {
        "adapter": "Claude",
        "image": "example.com/agent:1",
        "model": "claude",
        "credentials": {"secretName": "key"},
        **fields,
    }
    return AgentClass.model_validate({"metadata": {"name": "claude"}, "spec": spec})


def running_pod(agent: ContainerState = ContainerState.RUNNING) -> PodFacts:
    """Return a pod that works, or whose agent has ended."""
    states = {"agent": agent}
    return PodFacts(
        name="pod",
        uid="pod",
        phase="Running",
        containers=tuple(
            ContainerFacts(name=name, state=states.get(name, ContainerState.RUNNING), started=True)
            for name in CONTAINERS
        ),
    )


def decided(world: World) -> Decision:
    """Return what the loop decides; a start that is refused makes it decide anew, as it does."""
    decision = decide(world.seen())
    starts = any(isinstance(item, StartEpisode | StartSync) for item in decision.actions)
    if not (world.refuses and starts):
        return decision
    return decide(replace(world.seen(), obstacle="exceeded quota"))


def after_decision(world: World, decision: Decision) -> World:
    """Return the world once everything decided was done and the status is written."""
    deleted = {item.uid for item in decision.actions if isinstance(item, DeleteJob)}
    kept = [item for item in world.episodes if item.uid not in deleted and not item.finished]
    for action in decision.actions:
        if isinstance(action, StartEpisode):
            first = action.members[0]
            kept.append(_started(action.order, action.members, first.attempt, world, action.probe))
        if isinstance(action, StartSync):
            kept.append(_synced(action, world))
    gates = [item.gate for item in decision.actions if isinstance(item, SetGate)]
    status = package_status(world.seen(), decision)
    return replace(
        world,
        package=world.package.model_copy(update={"status": status}),
        episodes=tuple(kept),
        gate=gates[-1] if gates else world.gate,
        now=world.now + timedelta(seconds=1),
    )


def _synced(start: StartSync, world: World) -> Episode:
    """The Job that pushes the plan, already at its end."""
    name = start.order.episode
    report = Report(episode=name, stage="reported", final=True, plan_digest=start.plan)
    sync = _started(start.order, (), start.attempt, world)
    return replace(sync, plan=start.plan, complete=True, report=report)


def _started(
    order: Order, members: tuple[Member, ...], attempt: int, world: World, probe: str = ""
) -> Episode:
    return Episode(
        name=order.episode,
        uid=order.episode,
        members=members,
        attempt=attempt,
        created=world.now,
        budget=order.budget,
        probe=probe,
        pod=running_pod(),
    )

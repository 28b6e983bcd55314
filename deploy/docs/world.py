"""A small world for the loop to run in: one package, its class and its episodes.

The child objects are left out: the loop writes them and never decides by them.

Owns how decisions change the world, as the cluster would; what happens to it besides is
`deploy.docs.events`'. Imports the loop itself and nothing that stands in for it.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from afresh.api.agent_class import AgentClass
from afresh.api.work_package import WorkPackage
from afresh.core.actions import Decision, DeleteJob, StartEpisode
from afresh.core.observed import ContainerFacts, ContainerState, Episode, Observed, PodFacts
from afresh.core.planner import decide
from afresh.core.status import package_status

NAME = "token-auth"
FIRST = "T001"
START = datetime(2030, 1, 1, tzinfo=UTC)
CONTAINERS = ("runner", "agent", "verify")


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything that the loop can observe. `broken` names the one thing that is wrong, if any.

    `refuses`: the API server does not let Jobs be created.
    """

    package: WorkPackage
    agent_class: AgentClass | None
    episodes: tuple[Episode, ...] = ()
    rival: str | None = None
    refuses: bool = False
    broken: str = ""
    now: datetime = START

    def seen(self) -> Observed:
        """Return what the loop sees of it."""
        return Observed(
            now=self.now,
            package=self.package,
            agent_class=self.agent_class,
            rival=self.rival,
            episodes=self.episodes,
        )


def new_world(**spec: Any) -> World:
    """Return a new package of one subtask, and of a second that its user skips.

    The second lets the first be removed, and has no life of its own.
    """
    package = WorkPackage.model_validate(
        {
            "metadata": {"name": NAME, "namespace": "team-a", "uid": "uid", "generation": 1},
            "spec": {
                "agentClassName": "command",
                "repository": {"url": "https://git.example.com/team/api.git"},
                "verify": {"command": ["make", "test"]},
                "subtasks": [
                    {"id": FIRST, "prompt": "Do it."},
                    {"id": "T002", "prompt": "Do it.", "skip": True},
                ],
                **spec,
            },
        }
    )
    agent_class = {"adapter": "Command", "command": ["agent"], "image": "example.com/agent:1"}
    return World(
        package=package,
        agent_class=AgentClass.model_validate(
            {"metadata": {"name": "command"}, "spec": agent_class}
        ),
    )


def running_pod(agent: ContainerState = ContainerState.RUNNING) -> PodFacts:
    """Return a pod that works."""
    states = {"agent": agent}
    return PodFacts(
        name="pod",
        uid="pod",
        phase="Running",
        containers=tuple(
            ContainerFacts(
                name=name, state=states.get(name, ContainerState.RUNNING), started=True
            )
            for name in CONTAINERS
        ),
    )


def decided(world: World) -> Decision:
    """Return what the loop decides; a start that is refused makes it decide anew, as it does."""
    decision = decide(world.seen())
    starts = any(isinstance(item, StartEpisode) for item in decision.actions)
    if not (world.refuses and starts):
        return decision
    return decide(replace(world.seen(), obstacle="exceeded quota"))


def after_decision(world: World, decision: Decision) -> World:
    """Return the world once everything decided was done and the status is written."""
    seen = world.seen()
    deleted = {item.uid for item in decision.actions if isinstance(item, DeleteJob)}
    kept = [item for item in world.episodes if item.uid not in deleted and not item.finished]
    begun = [
        _started(item, world.now) for item in decision.actions if isinstance(item, StartEpisode)
    ]
    status = package_status(seen, decision)
    return replace(
        world,
        package=world.package.model_copy(update={"status": status}),
        episodes=(*kept, *begun),
        now=world.now + timedelta(seconds=1),
    )


def _started(start: StartEpisode, now: datetime) -> Episode:
    name = f"{NAME}-{start.subtask.lower()}-{start.attempt}"
    return Episode(
        name=name,
        uid=name,
        subtask=start.subtask,
        attempt=start.attempt,
        revision=start.revision,
        created=now,
        pod=running_pod(),
    )


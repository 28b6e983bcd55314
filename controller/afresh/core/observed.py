"""Everything observed about one package at one instant: the only input of a decision.

This module owns the frozen values; it does not know how they are read.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from afresh.api.agent_class import AgentClass, Gate
from afresh.api.package_status import SharedWait
from afresh.api.subtask import SubtaskObject
from afresh.api.work_package import WorkPackage
from afresh.contract.order import Budget
from afresh.contract.pod_layout import AGENT, VERIFY
from afresh.contract.report import Report
from afresh.contract.words import ContextMode

RUN_ENDED = "RunEnded"
"""The reason of the disruption of an episode that ended with the run to which it belonged."""


class ContainerState(StrEnum):
    """The state of a container, as the kubelet reports it."""

    WAITING = "Waiting"
    RUNNING = "Running"
    TERMINATED = "Terminated"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerFacts:
    """One container's status. `started`: it has run at least once; `began` is its last start."""

    name: str
    state: ContainerState
    started: bool = False
    image: str = ""
    reason: str = ""
    message: str = ""
    exit_code: int | None = None
    began: datetime | None = None
    finished: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFacts:
    """The status of an episode's pod. `disruption` is the reason of the condition DisruptionTarget.

    `scheduled`: when it got its node; `sandboxed`: when its sandbox and network were ready;
    `deadline`: when its kubelet has to end it, known once the kubelet has accepted the pod.
    """

    name: str
    uid: str
    phase: str
    reason: str = ""
    message: str = ""
    deleting_since: datetime | None = None
    disruption: str | None = None
    unschedulable: str | None = None
    scheduled: datetime | None = None
    sandboxed: datetime | None = None
    deadline: datetime | None = None
    containers: tuple[ContainerFacts, ...] = ()

    @property
    def ended_with_run(self) -> bool:
        """Whether it was ended with the run to which it belonged; a cluster has no runs."""
        return self.disruption == RUN_ENDED

    def container(self, name: str) -> ContainerFacts | None:
        """Return the status of the container called `name`, if the kubelet has written one."""
        return next((item for item in self.containers if item.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A subtask in an episode's batch, with the number of its attempt and its revision."""

    subtask: str
    attempt: int
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One Job and its pod. `failure` is the reason of the Job's Failed condition.

    `released`: when the Job was last allowed to create its pod, which a queue may delay. With
    `has_queue`, that queue can suspend it again.

    An episode without members is a sync: `attempt` is its number and `plan` the digest of the plan
    that it pushes. `generations` are those of the package and its class when it was created, and
    `inputs` is a digest of the fields from which it was built. `probe` names the gate and its step,
    if it probes one. `budget` is its share of the package's budget.
    """

    name: str
    uid: str
    members: tuple[Member, ...]
    attempt: int
    created: datetime
    mode: ContextMode | None = None
    generations: str = ""
    inputs: str = ""
    probe: str = ""
    budget: Budget | None = None
    plan: str = ""
    released: datetime | None = None
    suspended: bool = False
    has_queue: bool = False
    complete: bool = False
    failure: str | None = None
    deleting: bool = False
    pod: PodFacts | None = None
    report: Report | None = None
    refusal: str | None = None

    @property
    def finished(self) -> bool:
        """Whether the Job itself has ended."""
        return self.complete or self.failure is not None

    @property
    def has_begun(self) -> bool:
        """Whether its agent may have begun. If not, it has cost nothing and has no work to lose.

        The runner starts no agent before verify's container runs. Without a Report, the agent may
        have begun once both containers have run.
        """
        if self.has_reported_agent:
            return True
        needed = [self.pod.container(name) for name in (AGENT, VERIFY)] if self.pod else [None]
        return all(item is not None and item.started for item in needed)

    @property
    def has_reported_agent(self) -> bool:
        """Whether its Report shows that an agent ran. If its phases were cut, any result shows it.

        The phases of a batch are those of its last subtask.
        """
        report = self.report
        if report is None:
            return False
        is_paid = report.usage.turns > 0 or any(item.commit for item in report.results)
        is_cut = bool(report.results) and not report.phases
        return is_paid or is_cut or "agentStarted" in report.phases

    @property
    def subtasks(self) -> tuple[str, ...]:
        """The ids of its subtasks, in the order in which the episode works on them."""
        return tuple(member.subtask for member in self.members)

    def member(self, subtask: str) -> Member | None:
        """Return the member for that subtask, or None if the episode does not have it."""
        return next((member for member in self.members if member.subtask == subtask), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLimits:
    """The limits that packages share with each other, as they apply to this one.

    `gate` is the closed gate of the credential, and `gate_class` the class whose status holds it.
    `gate_taken`: another package probes it, or comes first. `class_free` is how many episodes of
    the class this package may start; None: any number.

    `waits` are the gates of shared causes that are closed for this package, and `tried` those (by
    cause and key) at which a Job waits or which it tries. `first_free` is how many more Jobs of the
    class and the package's images may be created before one has started, and `room` how many more
    may wait for a node; None: any number.
    """

    gate: Gate | None = None
    gate_class: str = ""
    gate_taken: bool = False
    class_free: int | None = None
    waits: tuple[SharedWait, ...] = ()
    tried: frozenset[tuple[str, str]] = frozenset()
    first_free: int | None = None
    room: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One package, its children, and everything else that a decision may use.

    `rival` is the name of the package of this namespace that owns the branch instead of this one.
    `isolated`: the NetworkPolicies that its episodes need exist and are correct. `obstacle` is the
    API server's refusal of the actions just tried.
    """

    now: datetime
    package: WorkPackage
    agent_class: AgentClass | None = None
    rival: str | None = None
    obstacle: str | None = None
    subtasks: tuple[SubtaskObject, ...] = ()
    episodes: tuple[Episode, ...] = ()
    shared_limits: SharedLimits = SharedLimits()
    isolated: bool = True
    report_url: str | None = None
    report_pins: tuple[str, ...] = ()

"""WorkPackage: what a team wants done in one repository, on one branch.

Knows the shape of a package; what follows from it is decided elsewhere.
"""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt

from afresh.api.agent_class import Image, PidsLimit
from afresh.api.meta import ApiModel, DnsName, KubernetesObject
from afresh.api.package_status import MAX_REQUEST, MAX_SUBTASKS, WorkPackageStatus
from afresh.api.repository import RepositorySpec, default_branch
from afresh.api.resources import Money, ResourceRequirements
from afresh.api.rules import MapBy, Rule
from afresh.api.subtask import Guidance, Setup, SubtaskEntry, TimeoutSeconds, VerifySpec
from afresh.contract.words import ContextMode

MAX_PROMPTS_BYTES = 160 * 1024
MAX_NAME_LENGTH = 40
# Each new value is one request; `.status.lastHandledCancel` and `lastHandledRetry` answer it.
CANCEL_ANNOTATION = "afresh.dev/cancel-requested-at"
RETRY_ANNOTATION = "afresh.dev/retry-requested-at"


class ContextSpec(ApiModel):
    """How much work one agent context is given."""

    mode: ContextMode = ContextMode.FRESH_PER_SUBTASK
    """One subtask, consecutive subtasks of one epic, or all that are ready."""
    reset_interval: StrictInt = Field(default=8, ge=0, le=200)
    """With FreshPerEpic, at most this many subtasks in one context; 0: no limit."""


class EpisodeSpec(ApiModel):
    """Limits of the agent's program, per subtask."""

    timeout_seconds: TimeoutSeconds = 600
    """How long it may run."""
    max_turns: StrictInt = Field(default=20, ge=1, le=10_000)
    """How often the model may answer. Without the gateway the program keeps it, or what it writes
    is counted; with Aider and Command any other number than the default is then refused."""
    startup_timeout_seconds: TimeoutSeconds = 900
    """How long pulling images and starting may take, not counting the wait for room on a node."""


class BudgetSpec(ApiModel):
    """What the whole package may use of models."""

    max_tokens: StrictInt | None = Field(default=None, ge=1, le=1_000_000_000_000)
    """Tokens sent and received."""
    max_cost_usd: Money | None = None
    """US dollars; needs pricing in the class for every model that is used."""


def _dependencies_exist(spec: "WorkPackageSpec") -> bool:
    ids = {entry.id for entry in spec.subtasks}
    return all(ids.issuperset(entry.depends_on) for entry in spec.subtasks)


def _verify_given(spec: "WorkPackageSpec") -> bool:
    return spec.verify is not None or all(entry.verify for entry in spec.subtasks)


def _episodes_suffice(spec: "WorkPackageSpec") -> bool:
    return spec.max_episodes >= len(spec.subtasks)


def _prompts_fit(spec: "WorkPackageSpec") -> bool:
    return sum(len(entry.prompt.encode()) for entry in spec.subtasks) <= MAX_PROMPTS_BYTES


class WorkPackageSpec(ApiModel):
    """What is to be done, by whom, and within which limits."""

    RULES = (
        Rule(
            # The list of one makes the ids once: looking them up anew for each dependency goes over
            # the server's budget at run time with 200 subtasks and 16 dependencies of each.
            cel="[self.subtasks.map(s, s.id)].all(ids, self.subtasks.all(s,"
            " !has(s.dependsOn) || s.dependsOn.all(d, d in ids)))",
            message="dependsOn names a subtask that does not exist: correct the id, or add it to"
            " spec.subtasks",
            field_path=".subtasks",
            holds=_dependencies_exist,
        ),
        Rule(
            cel="has(self.verify) || self.subtasks.all(s, has(s.verify))",
            message="spec.verify is missing: set spec.verify.command, or verify.command on every"
            ' subtask; ["true"] opts out',
            field_path=".verify",
            holds=_verify_given,
        ),
        Rule(
            cel="self.maxEpisodes >= size(self.subtasks)",
            message="spec.maxEpisodes is below the number of subtasks: set spec.maxEpisodes (50 by"
            " default) to at least that number",
            field_path=".maxEpisodes",
            holds=_episodes_suffice,
        ),
        Rule(
            cel=f"self.subtasks.map(s, size(bytes(s.prompt))).sum() <= {MAX_PROMPTS_BYTES}",
            message="the prompts of spec.subtasks are over 160 KiB together: shorten them, or make"
            " two packages",
            field_path=".subtasks",
            holds=_prompts_fit,
        ),
    )

    goal: str = Field(default="", max_length=2000)
    """What the whole is for, in a sentence; absent: the name of the package."""
    agent_class_name: Annotated[DnsName, Field(max_length=63)]
    """The AgentClass that does the work."""
    image: Image | None = None
    """The image with the repository's toolchain and the agent program; absent: the class's."""
    repository: RepositorySpec
    """Where the work happens. Its url, baseRef and branch cannot be changed."""
    context: ContextSpec = ContextSpec()
    """How much work one agent context is given."""
    guidance: Guidance = ()
    """Directives for every subtask, in the present tense."""
    setup: Setup | None = None
    """Prepares a checkout, before the agent and before verify."""
    verify: VerifySpec | None = None
    """The acceptance command for subtasks that have none of their own."""
    resources: ResourceRequirements | None = None
    """What the agent's container gets; absent: what the class says."""
    pids_limit: PidsLimit | None = None
    """How many processes the agent may have; absent: what the class says."""
    episode: EpisodeSpec = EpisodeSpec()
    """Limits of the agent's program, per subtask."""
    max_episodes: StrictInt = Field(default=50, ge=1, le=10_000)
    """How many episodes there may be in all; at least one per subtask."""
    max_consecutive_failures: StrictInt = Field(default=3, ge=1, le=100)
    """After so many failures in a row a subtask is skipped."""
    budget: BudgetSpec | None = None
    """What the whole package may use of models; absent: no limit."""
    parallelism: StrictInt = Field(default=1, ge=1, le=50)
    """How many episodes may run at a time."""
    suspend: StrictBool = False
    """Start nothing new; what runs may end."""
    queue_name: Annotated[DnsName, Field(max_length=63)] | None = None
    """The Kueue LocalQueue that admits the episodes; absent: none."""
    subtasks: Annotated[tuple[SubtaskEntry, ...], MapBy("id")] = Field(
        min_length=1, max_length=MAX_SUBTASKS
    )
    """The pieces of the work; among those that are ready, the first in the list starts first."""


def _name_fits(package: "WorkPackage") -> bool:
    name = package.metadata.name
    return len(name) <= MAX_NAME_LENGTH and "." not in name


class WorkPackage(KubernetesObject):
    """What a team wants done in one repository, on one branch, by agents that start afresh."""

    RULES = (
        Rule(
            cel=f"size(self.metadata.name) <= {MAX_NAME_LENGTH}"
            " && !self.metadata.name.contains('.')",
            message="metadata.name must have at most 40 characters and no '.': it becomes part of"
            " the names of Jobs and of the branch",
            holds=_name_fits,
        ),
    )

    kind: Literal["WorkPackage"] = "WorkPackage"
    spec: WorkPackageSpec
    """What is to be done, by whom, and within which limits."""
    status: WorkPackageStatus = WorkPackageStatus()
    """What the operator observed."""

    @property
    def cancel_request(self) -> str:
        """What was last asked by the annotation; empty: nothing."""
        return self.metadata.annotations.get(CANCEL_ANNOTATION, "")[:MAX_REQUEST]

    @property
    def retry_request(self) -> str:
        """What was last asked by the annotation; empty: nothing."""
        return self.metadata.annotations.get(RETRY_ANNOTATION, "")[:MAX_REQUEST]

    @property
    def branch(self) -> str:
        """The branch that the work goes to."""
        return self.spec.repository.branch or default_branch(self.metadata.name)

    def verify_of(self, entry: SubtaskEntry) -> VerifySpec:
        """Return the acceptance command of `entry`: its own, else the package's.

        Raises ValueError where neither is given, which no valid package allows.
        """
        verify = entry.verify or self.spec.verify
        if verify is None:
            raise ValueError(f"subtask {entry.id} has no verify command")
        return verify

"""WorkPackage: what a team wants done in one repository, on one branch.

This module owns the shape of a package; `core` decides what happens to it.
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
UNKNOWN_DEPENDENCY = (
    "dependsOn names a subtask that does not exist: correct the id, or add it to spec.subtasks"
)
# Each new value is one request; `.status.lastHandledCancel` and `lastHandledRetry` acknowledge it.
CANCEL_ANNOTATION = "afresh.dev/cancel-requested-at"
RETRY_ANNOTATION = "afresh.dev/retry-requested-at"


class ContextSpec(ApiModel):
    """How much work one agent context is given."""

    mode: ContextMode = ContextMode.FRESH_PER_SUBTASK
    """The subtasks that one context is given: one subtask (FreshPerSubtask), consecutive subtasks
    of one epic (FreshPerEpic), or all that are ready (Persistent)."""
    reset_interval: StrictInt = Field(default=8, ge=0, le=200)
    """With FreshPerEpic, the most subtasks that one context is given; 0: no limit."""


class EpisodeSpec(ApiModel):
    """Limits of the agent program, per subtask."""

    timeout_seconds: TimeoutSeconds = 600
    """How many seconds the agent program may run."""
    max_turns: StrictInt = Field(default=20, ge=1, le=10_000)
    """How many times the model may answer. Without the gateway, the agent program enforces the
    limit, or the runner counts turns in the program's output; with the adapters Aider and Command,
    any value other than the default is then refused."""
    startup_timeout_seconds: TimeoutSeconds = 900
    """How many seconds pulling images and starting containers may take, not counting the time that
    the pod waits for a node."""


class BudgetSpec(ApiModel):
    """The tokens and cost that the whole package may use."""

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
    """The work to do, the agent that does it, and the limits."""

    RULES = (
        Rule(
            # The list of one item computes the ids once: to compute them again for each dependency
            # exceeds the server's cost limit with 200 subtasks of 16 dependencies each.
            cel="[self.subtasks.map(s, s.id)].all(ids, self.subtasks.all(s,"
            " !has(s.dependsOn) || s.dependsOn.all(d, d in ids)))",
            message=UNKNOWN_DEPENDENCY,
            field_path=".subtasks",
            holds=_dependencies_exist,
        ),
        Rule(
            cel="has(self.verify) || self.subtasks.all(s, has(s.verify))",
            message="spec.verify is missing: set spec.verify.command, or verify.command on every"
            ' subtask; ["true"] accepts all work',
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
            message="the prompts of spec.subtasks are over 160 KiB together: shorten them, or"
            " create two packages",
            field_path=".subtasks",
            holds=_prompts_fit,
        ),
    )

    goal: str = Field(default="", max_length=2000)
    """The purpose of the package, in a sentence; absent: the name of the package."""
    agent_class_name: Annotated[DnsName, Field(max_length=63)]
    """Name of the AgentClass that does the work."""
    image: Image | None = None
    """The image with the repository's toolchain and the agent program; absent: that of the
    class."""
    repository: RepositorySpec
    """The git repository to work in. Its url, baseRef and branch cannot be changed."""
    context: ContextSpec = ContextSpec()
    """How much work one agent context is given."""
    guidance: Guidance = ()
    """Directives for every subtask, in the present tense."""
    setup: Setup | None = None
    """A command that prepares a checkout. It runs before the agent and before verify."""
    verify: VerifySpec | None = None
    """The acceptance command for subtasks that have none of their own."""
    resources: ResourceRequirements | None = None
    """Resources of the agent's container; absent: those of the class."""
    pids_limit: PidsLimit | None = None
    """How many processes the agent may have; absent: the limit of the class."""
    episode: EpisodeSpec = EpisodeSpec()
    """Limits of the agent program, per subtask."""
    max_episodes: StrictInt = Field(default=50, ge=1, le=10_000)
    """How many episodes the package may have in total; at least one per subtask."""
    max_consecutive_failures: StrictInt = Field(default=3, ge=1, le=100)
    """How many times in a row a subtask may fail before it is skipped."""
    budget: BudgetSpec | None = None
    """The tokens and cost that the whole package may use; absent: no limit."""
    parallelism: StrictInt = Field(default=1, ge=1, le=50)
    """How many episodes may run at a time."""
    suspend: StrictBool = False
    """Start no new episodes; running episodes continue to their end."""
    queue_name: Annotated[DnsName, Field(max_length=63)] | None = None
    """Name of the Kueue LocalQueue that admits the episodes; absent: none."""
    subtasks: Annotated[tuple[SubtaskEntry, ...], MapBy("id")] = Field(
        min_length=1, max_length=MAX_SUBTASKS
    )
    """The pieces of the work. Among the subtasks that are ready, the first in the list starts
    first."""


def _name_fits(package: "WorkPackage") -> bool:
    name = package.metadata.name
    return len(name) <= MAX_NAME_LENGTH and "." not in name


class WorkPackage(KubernetesObject):
    """Work that a team wants done in one repository, on one branch, by agents that start afresh."""

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
    """The work to do, the agent that does it, and the limits."""
    status: WorkPackageStatus = WorkPackageStatus()
    """The state that the operator observed."""

    @property
    def cancel_request(self) -> str:
        """The value of the annotation that requests a cancellation; empty: there is none."""
        return self.metadata.annotations.get(CANCEL_ANNOTATION, "")[:MAX_REQUEST]

    @property
    def retry_request(self) -> str:
        """The value of the annotation that requests a retry; empty: there is none."""
        return self.metadata.annotations.get(RETRY_ANNOTATION, "")[:MAX_REQUEST]

    @property
    def branch(self) -> str:
        """The branch to which the work is pushed."""
        return self.spec.repository.branch or default_branch(self.metadata.name)

    def verify_of(self, entry: SubtaskEntry) -> VerifySpec:
        """Return the acceptance command of `entry`: its own, else the package's.

        Raises ValueError if neither is set, which validation of the package rules out.
        """
        verify = entry.verify or self.spec.verify
        if verify is None:
            raise ValueError(f"subtask {entry.id} has no verify command")
        return verify

"""The Order: the work of one episode. JSON in a pod annotation, read only by the runner.

It holds no secret: credentials are mounted files (see `contract.pod_layout`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from afresh.contract.words import (
    AdapterName,
    Checkout,
    ContextMode,
    CredentialsMode,
    Marker,
    ModelApiName,
)

ORDER_VERSION = 1
ORDER_MAX_BYTES = 200 * 1024
# If less than this is left of a token budget, the gateway refuses every request to the model.
LEAST_TOKENS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """The author and committer of the commits."""

    name: str
    email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Submodule:
    """A submodule in the checkout: its path in the repository, and the URL to fetch it from."""

    path: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """The git repository of the episode. Secret names are for messages only.

    With a `signing_secret_name`, every commit for the branch is signed. With a `cache_claim_name`,
    a mirror is kept on that claim. With `lfs`, Git LFS pointers are replaced by their files.
    """

    url: str
    base_ref: str
    branch: str
    secret_name: str | None = None
    author: Author | None = None
    signing_secret_name: str | None = None
    cache_claim_name: str | None = None
    submodules: tuple[Submodule, ...] = ()
    lfs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command that the episode runs in a container, with its limit in seconds."""

    command: tuple[str, ...]
    timeout_seconds: int = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify:
    """The acceptance command, and the image in which it runs, for messages.

    With a `check`, its program is looked for before the agent starts, and the Report returns the
    key `check` if the program was found.
    """

    command: tuple[str, ...]
    timeout_seconds: int = 300
    checkout: Checkout = Checkout.CLEAN
    image: str = "the image of verify"
    check: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One subtask of the episode. `files` are globs; empty means any file.

    `marker_on_failure` is its marker after a failure that counts. `has_work_aside`: an earlier
    episode may have left work on the subtask's side ref. `kept` is the verified commit on that ref
    that could not be pushed to the branch.
    """

    id: str
    title: str
    prompt: str
    verify: Verify
    revision: int = 0
    files: tuple[str, ...] = ()
    max_new_files: int = 10
    guidance: tuple[str, ...] = ()
    marker_on_failure: Marker = Marker.PENDING
    has_work_aside: bool = False
    kept: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLine:
    """One line of the plan, from the status at the time when the Order is written.

    `revision` is that of the subtask in the spec; `epic` is empty if it has none. `commit` is the
    recorded commit of a subtask that is done.
    """

    id: str
    title: str
    marker: Marker
    revision: int = 0
    epic: str = ""
    commit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Verified work that a sync delivers: the commit on the side ref of the subtask `id`."""

    id: str
    commit: str
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens, as decimal strings, for models that match the glob.

    `max_output_tokens`: the limit of an answer if there is a budget and the request names no limit.
    """

    model: str
    context_window_tokens: int | None = None
    max_output_tokens: int | None = None
    input_usd_per_million: str = "0"
    output_usd_per_million: str = "0"
    cache_read_usd_per_million: str = "0"
    cache_write_usd_per_million: str = "0"


def price_of(pricing: Iterable[Price], model: str) -> Price | None:
    """Return the first price that matches a model's name."""
    return next((price for price in pricing if fnmatchcase(model, price.model)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """The agent program, its access to the model, and its limits.

    Without `model_api`, the program's default API is used. The agent is stopped before the worktree
    and HOME together reach `disk_bytes`, and after it was idle for `idle_seconds`. The gateway
    aborts a request if the model sends nothing for `silence_seconds`. The provider may run server
    tools for the agent only with `allows_server_tools`.
    """

    adapter: AdapterName
    command: tuple[str, ...] = ()
    model: str | None = None
    model_api: ModelApiName | None = None
    endpoint: str | None = None
    credentials_mode: CredentialsMode | None = None
    secret_name: str | None = None
    timeout_seconds: int = 600
    max_turns: int = 20
    pricing: tuple[Price, ...] = ()
    disk_bytes: int | None = None
    silence_seconds: int = 120
    idle_seconds: int | None = None
    allows_server_tools: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The episode's share of the package's budget; absent: no limit. The cost is in US dollars."""

    max_tokens: int | None = None
    max_cost_usd: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The work of one episode: these subtasks, in this order, in one context of this agent.

    `episode` is the Job's name and `package` is `namespace/name`; the agent sees neither. An Order
    without tasks is a sync: the runner renders `plan` and pushes it. `push_check`: before any agent
    starts, the runner pushes a commit with only the plan, to find out whether the server accepts
    pushes. A sync with `push_check` is a push probe: it pushes the `kept` work, or else such a
    commit. While the agent works, the runner sends a Report that is not final every `hint_seconds`,
    and only to a server whose certificate has one of `report_pins`.
    """

    episode: str
    package: str
    goal: str
    repository: Repository
    agent: Agent
    tasks: tuple[Task, ...]
    plan: tuple[PlanLine, ...]
    mode: ContextMode = ContextMode.FRESH_PER_SUBTASK
    guidance: tuple[str, ...] = ()
    setup: Step | None = None
    budget: Budget | None = None
    push_check: bool = False
    kept: tuple[Kept, ...] = ()
    report_url: str | None = None
    report_pins: tuple[str, ...] = ()
    hint_seconds: int = 30
    version: int = field(default=ORDER_VERSION)

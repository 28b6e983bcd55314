"""The mutable state of an episode: that of all its subtasks, and that of the current one.

It has no behaviour of its own. The table of `pipeline` says which stage needs and sets each field.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from afresh.contract.order import Order, Task

if TYPE_CHECKING:  # most of it is imported while the agent works
    from afresh.adapters.adapter import Launch, Verdict
    from afresh.contract.report import Result, VerifyResult
    from afresh.episode.container.program_search import ProgramSearch
    from afresh.episode.fetch_ahead import FetchUnderWay
    from afresh.episode.git.fetching import BranchStart
    from afresh.episode.git.plan_commit import BranchPlan
    from afresh.episode.git.snapshot import Snapshot
    from afresh.episode.model_access import Access
    from afresh.episode.outbox import Outbox

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class EpisodeState:
    """The state that is passed from one subtask to the next.

    `fetch` is the fetch that the first subtask waits for. `order` is the Order with the current
    plan. `start` is the commit on which the last subtask was finally based, and `pushed` the commit
    that this episode has pushed to the branch since then. `session` is the agent's session, for
    adapters that resume. `programs` are the acceptance commands whose program was found.
    `import_rest` imports the modules that are needed after the agent.
    """

    fetch: "FetchUnderWay"
    order: Order
    start: "BranchStart | None" = None
    pushed: str | None = None
    session: str | None = None
    is_laid_out: bool = False
    programs: tuple[str, ...] = ()
    import_rest: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnd:
    """How the agent ended. `verdict` is its program's, or the runner's if the runner stopped it.

    `met_process_limit`: its output says that no process could be started. `session` is the
    program's id of this run, for adapters that resume.
    """

    verdict: "Verdict"
    exit_code: int | None = None
    met_process_limit: bool = False
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """The changes and the plan file to push to the branch.

    `spent_seconds` is how long verifying these changes has taken so far, on earlier heads.
    """

    snapshot: "Snapshot"
    plan: str
    spent_seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class BranchState:
    """The state of the branch during a subtask or a sync.

    `start` is the commit on which the work is based; `on_branch` is the plan that a sync has found
    on the branch or pushed to it.
    """

    episode: EpisodeState
    start: "BranchStart | None" = None
    on_branch: "BranchPlan | None" = None


@dataclass(slots=True, kw_only=True)
class SubtaskState(BranchState):
    """What the stages of one subtask pass to each other; a field is None until a stage sets it.

    `warnings` are sentences for people. `access`, `launch` and `search` are for the agent's run;
    `agent_scope` is closed when the run is over. `agent_end` is how the agent ended; `outbox` and
    `snapshot` are what it left. `candidate` becomes `commit`, whose verification is `verified`.
    `result` is what the Report says of the subtask.
    """

    task: Task
    warnings: tuple[str, ...] = ()
    access: "Access | None" = None
    launch: "Launch | None" = None
    search: "ProgramSearch | None" = None
    agent_scope: ExitStack = field(default_factory=ExitStack)
    agent_end: AgentEnd | None = None
    outbox: "Outbox | None" = None
    snapshot: "Snapshot | None" = None
    candidate: Candidate | None = None
    commit: str | None = None
    verified: "VerifyResult | None" = None
    result: "Result | None" = None

    @property
    def exit_code(self) -> int | None:
        """The exit code of the agent, if an agent ran."""
        return self.agent_end.exit_code if self.agent_end else None


def given(value: T | None) -> T:
    """Return a field of the state. Raises LookupError if no earlier stage has set it."""
    if value is None:
        raise LookupError("no earlier stage has set a field that this stage needs")
    return value

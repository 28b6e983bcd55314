"""The mutable state of an episode: of all its subtasks, and of the current one.

Owns no behaviour. Which stage needs and gives which field is in the table of `pipeline`.
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

    `fetch` is the one that the first subtask waits for. `order` is the Order with the plan as it
    stands. `start` is what the last subtask was based on in the end, and `pushed` the commit that
    this episode has put on the branch since then. `session` is the agent's, for adapters that
    resume. `programs` are those of acceptance commands that were looked for and found.
    `import_rest` imports what is needed after the agent.
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

    `met_process_limit`: its output says that no process can be started. `session` is its program's
    id of this run, for adapters that resume.
    """

    verdict: "Verdict"
    exit_code: int | None = None
    met_process_limit: bool = False
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Changes and a plan file that are to be pushed to the branch.

    `spent_seconds` is how long the acceptance command has taken for it so far, on earlier heads.
    """

    snapshot: "Snapshot"
    plan: str
    spent_seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class BranchState:
    """The state of the branch for the work of a subtask or a sync.

    `start` is what the work is based on, `on_branch` what a sync has found or put there.
    """

    episode: EpisodeState
    start: "BranchStart | None" = None
    on_branch: "BranchPlan | None" = None


@dataclass(slots=True, kw_only=True)
class SubtaskState(BranchState):
    """What the stages of one subtask pass on; a field is None until a stage sets it.

    `warnings` are sentences for people. `access`, `launch` and `search` are for the agent's run,
    `agent_scope` is closed when that is over. `agent_end` is how it ended, `outbox` and `snapshot`
    are what it has left. `candidate` is to become `commit`, for which `verified` holds. `result` is
    what is reported.
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
        """The agent's, if there was one."""
        return self.agent_end.exit_code if self.agent_end else None


def given(value: T | None) -> T:
    """Return a field of the state that an earlier stage has given."""
    if value is None:
        raise LookupError("no stage has given what this one needs")
    return value

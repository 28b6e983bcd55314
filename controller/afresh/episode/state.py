"""Where an episode stands between its stages: what it builds on, and what the agent has left.

Owns no behaviour beyond its own fields. One Desk serves all subtasks of an episode.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from afresh.contract.order import PlanLine
from afresh.episode.context import EpisodeContext
from afresh.episode.git.fetching import Start
from afresh.episode.stages.fetch import FetchUnderWay

if TYPE_CHECKING:  # imported while the agent works
    from afresh.episode.git.snapshot import Snapshot
    from afresh.episode.stages.outbox import Outbox


@dataclass(slots=True, kw_only=True)
class EpisodeState:
    """What changes while the episode goes on.

    `opening` is the fetch that the first subtask waits for. `plan` is the plan as it stands.
    `start` is what the work starts from, `pushed` a commit of this episode that is on the branch
    since then. `session` is the agent's, for adapters that resume. `outbox` and `shot` are what the
    agent of the present subtask has left, `warnings` what its program cannot do. `programs` are
    those of acceptance commands that were looked for and found.
    """

    opening: FetchUnderWay
    plan: tuple[PlanLine, ...]
    start: Start | None = None
    pushed: str | None = None
    session: str | None = None
    is_laid_out: bool = False
    outbox: "Outbox | None" = None
    shot: "Snapshot | None" = None
    warnings: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()

    def on_plan(self, context: EpisodeContext) -> EpisodeContext:
        """Return `context` with the plan as it stands."""
        return replace(context, order=replace(context.order, plan=self.plan))

    def clear(self) -> None:
        """Forget what the agent of the subtask before has left."""
        self.outbox = None
        self.shot = None
        self.warnings = ()

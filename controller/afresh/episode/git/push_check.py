"""Finds out whether the server accepts pushes to the branch, before any work is done.

Owns the commit that is pushed for this: it contains the plan alone, or is empty if the branch has
the plan already. It passes the same hooks as any other push to the branch.
"""

from dataclasses import dataclass

from afresh.contract import plan_file
from afresh.contract.order import Order
from afresh.contract.report import Unpushed
from afresh.contract.words import Outcome, PushRefusal
from afresh.episode.git import authorship, fetching, history, push, refusals, worktree
from afresh.episode.git.fetching import BranchStart
from afresh.episode.git.repository import GitRepository
from afresh.episode.git.state_files import write_state
from afresh.episode.stopped import SubtaskStopped

MOST_TRIES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class PushCheckResult:
    """The branch after a push that the server accepted: its new start and its plan."""

    start: BranchStart
    plan_digest: str


def check_push(git: GitRepository, order: Order, start: BranchStart) -> PushCheckResult:
    """Push the plan alone on top of `start`. Raises SubtaskStopped if the server refuses it.

    If another commit of this package arrives first, the server has accepted a push from it already.
    """
    for _ in range(MOST_TRIES):
        text = _plan_at(git, order, start)
        tree = write_state(git, start.head, text)
        digest = plan_file.digest(text)
        message = history.plan_message(order, digest)
        made = authorship.commit(git, order, tree, start.head, message)
        try:
            push.push(git, order, start, made)
        except SubtaskStopped as ended:
            if ended.outcome is not Outcome.CONFLICT:
                raise refused(ended) from ended.__cause__
        else:
            return PushCheckResult(start=fetching.start_at(git, made, start), plan_digest=digest)
        before, known = start.expected, {commit.id for commit in start.commits}
        start = fetching.fetch_start(git, order)
        if start.expected == before:  # whatever the server answers, the branch has not moved
            raise refused(refusals.declined(order))
        if any(_is_own(order, commit) and commit.id not in known for commit in start.commits):
            text = worktree.plan_text(git, start.head)
            return PushCheckResult(start=start, plan_digest=plan_file.digest(text))
    raise push.moved(order)


def _plan_at(git: GitRepository, order: Order, start: BranchStart) -> str:
    """Return the plan at `start`, or the Order's plan if the package has none there yet."""
    if any(_is_own(order, commit) for commit in start.commits):
        text = worktree.plan_text(git, start.head)
        if text:
            return text
    plan = plan_file.Plan(goal=order.goal, lines=history.caught_up(order, start.commits))
    return plan_file.render(plan)


def _is_own(order: Order, commit: history.Commit) -> bool:
    return commit.trailers.get(history.PACKAGE) == order.package


def refused(ended: SubtaskStopped) -> SubtaskStopped:
    """Return the end of an episode that could not even push the plan; no agent caused it."""
    if not push.is_refusal(ended) and ended.outcome is not Outcome.AGENT_ERROR:
        return ended
    outcome = ended.outcome if push.is_refusal(ended) else Outcome.CONFIG
    return SubtaskStopped(outcome, ended.message, unpushed=Unpushed(refusal=PushRefusal.PLAN))

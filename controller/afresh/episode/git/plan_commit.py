"""Puts a plan on the branch in a commit of its own, where no subtask's commit carries it.

Owns what becomes of the plan when somebody else's push comes first: their plan stands, with one
line changed. Nothing but `.afresh` differs from the commit before, and no subtask becomes done.
"""

import time
from dataclasses import dataclass, replace

from afresh.contract import plan_file
from afresh.contract.order import Order, PlanLine
from afresh.contract.words import Outcome
from afresh.episode.git import authorship, fetching, history, push, worktree
from afresh.episode.git.faults import GitError
from afresh.episode.git.fetching import BranchStart
from afresh.episode.git.repository import GitRepository
from afresh.episode.git.state_files import AgentNotes, write_state
from afresh.episode.stopped import SubtaskStopped

# In all. It is part of the minutes that the pod's deadline leaves beyond the commands' own.
LIMIT_SECONDS = 30.0
MOST_TRIES = 6
NOT_COMMITTED = (
    "The plan cannot be committed; another episode follows by itself, and afresh logs says why."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChange:
    """The plan as it ought to stand, and notes to append.

    With a line, `text` holds for the head it was made from: on another one, only the marker of
    that subtask is changed. Without, `text` is the whole truth on any head.
    """

    text: str
    line: PlanLine | None = None
    notes: AgentNotes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchPlan:
    """What is on the branch now; None: there is no branch."""

    head: str | None = None
    plan_digest: str | None = None


def push_plan(
    git: GitRepository, order: Order, start: BranchStart, change: PlanChange
) -> BranchPlan:
    """Put the plan on the head of `start`, or on the one that has taken its place.

    Commits nothing where nothing changes. A missing branch is made from the base for a subtask, and
    left missing without one. Raises SubtaskStopped when the remote cannot be used, or moves every
    time.
    """
    bounded = replace(git, deadline=time.monotonic() + LIMIT_SECONDS)
    try:
        return _push(bounded, order, start, change)
    except GitError as error:
        raise SubtaskStopped(Outcome.INFRASTRUCTURE, NOT_COMMITTED) from error


def _push(git: GitRepository, order: Order, start: BranchStart, change: PlanChange) -> BranchPlan:
    text = change.text
    for _ in range(MOST_TRIES):
        if not start.expected and change.line is None:
            return BranchPlan()
        made = _commit(git, order, start, replace(change, text=text))
        try:
            if made != start.expected:
                push.push(git, order, start, made)
            return BranchPlan(head=made, plan_digest=plan_file.digest(text))
        except SubtaskStopped as ended:
            if ended.outcome is not Outcome.CONFLICT:
                raise
        start = fetching.fetch_start(git, order)
        text = _text_at(git, start.head, change)
    raise push.moved(order)


def _commit(git: GitRepository, order: Order, start: BranchStart, change: PlanChange) -> str:
    """Return a commit with the plan on the head, or the head if the branch has all of it."""
    tree = write_state(git, start.head, change.text, change.notes)
    if start.expected and tree == git.text("rev-parse", f"{start.head}^{{tree}}"):
        return start.head
    message = history.plan_message(order, plan_file.digest(change.text), change.line)
    return authorship.commit(git, order, tree, start.head, message)


def _text_at(git: GitRepository, head: str, change: PlanChange) -> str:
    if change.line is None:
        return change.text
    text = git.read(head, worktree.PLAN).decode(errors="replace")
    try:
        return plan_file.with_marker(text, change.line.id, change.line.marker)
    except KeyError:
        return change.text

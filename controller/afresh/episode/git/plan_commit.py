"""Pushes a plan to the branch in a commit of its own, when no subtask's commit contains it.

Owns what happens to the plan if another push comes first: the other plan is kept, with one line
changed. Only `.afresh` differs from the commit before, and the commit finishes no subtask.
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

# For all tries. Part of the minutes that the pod's deadline allows beyond the commands' limits.
LIMIT_SECONDS = 30.0
MOST_TRIES = 6
NOT_COMMITTED = (
    "The plan cannot be committed; another episode starts automatically, and afresh logs shows why."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChange:
    """The wanted plan, and notes to append.

    With a `line`, `text` is the plan for one head only: on another head, only the marker of that
    subtask is changed. Without a `line`, `text` replaces the plan of any head.
    """

    text: str
    line: PlanLine | None = None
    notes: AgentNotes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchPlan:
    """The head of the branch and the digest of its plan; None if there is no branch."""

    head: str | None = None
    plan_digest: str | None = None


def push_plan(
    git: GitRepository, order: Order, start: BranchStart, change: PlanChange
) -> BranchPlan:
    """Push the plan on top of `start`, or on top of the head that has replaced it.

    Creates no commit if nothing changes. A missing branch is created from the base if the change
    has a `line`, and otherwise stays missing. Raises SubtaskStopped if the remote cannot be used,
    or if the branch moves before each of the tries.
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
    """Return a commit with the plan on top of the head, or the head itself if nothing differs."""
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

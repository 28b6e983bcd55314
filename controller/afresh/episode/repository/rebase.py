"""Puts an agent's changes on top of a branch that has moved, if they do not contradict each other.

Owns the merge and what becomes of the plan. What comes out is a new snapshot, to be verified anew.
"""

import os
from dataclasses import replace

from afresh.contract.order import Order, Task
from afresh.contract.report import ANY_PATH
from afresh.contract.words import Marker
from afresh.core import plan_file
from afresh.core.overlap import overlap
from afresh.episode.briefing import planned
from afresh.episode.repository import worktree
from afresh.episode.repository.bare import BareFolders
from afresh.episode.repository.git import Git
from afresh.episode.repository.git_faults import GitError
from afresh.episode.repository.persist import moved
from afresh.episode.repository.prepare import Start
from afresh.episode.repository.snapshot import Snapshot, changes_of, refuse_bare


def rebase(git: Git, order: Order, shot: Snapshot, start: Start) -> Snapshot:
    """Return the changes of `shot` on the head of `start`. Raises Ended if they do not fit."""
    ours = git.commit_tree(shot.tree, shot.head, "Changes\n")
    try:
        # Without this, an unrelated or rewritten branch would be merged from nothing.
        git.run("merge-base", "--is-ancestor", shot.head, start.head)
    except GitError as error:
        raise moved(order) from error
    try:
        merged = git.text("merge-tree", "--write-tree", "--no-messages", start.head, ours)
    except GitError as error:
        raise moved(order, _in_both(git, shot, start)) from error
    refuse_bare(shot.changes, _bare_folders(git, merged))
    return replace(shot, head=start.head, tree=merged)


def _bare_folders(git: Git, tree: str) -> BareFolders:
    """What two have changed can be a repository together, though neither part of it is one."""
    bare = BareFolders()
    for path in os.fsdecode(git.run("ls-tree", "-r", "-t", "-z", "--name-only", tree)).split("\0"):
        bare.add(path)
    return bare


def _in_both(git: Git, shot: Snapshot, start: Start) -> tuple[str, ...]:
    """Return the paths that both have changed; that of a folder where one has it as a file."""
    theirs = [change.path for change in changes_of(git, shot.head, start.head)]
    theirs = [path for path in theirs if not path.startswith(f"{worktree.STATE}/")]
    ours = [change.path for change in shot.changes]
    both = [path for path in ours if overlap((path,), theirs)]
    return tuple(both) or ANY_PATH


def plan_at(git: Git, order: Order, task: Task, head: str) -> str:
    """Return the plan as it stands at `head`, with only this subtask's marker changed."""
    text = git.read(head, worktree.PLAN).decode(errors="replace")
    try:
        return plan_file.with_marker(text, task.id, Marker.DONE)
    except KeyError:
        return planned(order, task, Marker.DONE)

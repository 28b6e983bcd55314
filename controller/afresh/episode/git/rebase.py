"""Applies an agent's changes on top of a branch that has moved, if the two do not conflict.

Owns the merge and the resulting plan. The result is a new snapshot, which must be verified again.
"""

import os
from dataclasses import replace

from afresh.contract import plan_file
from afresh.contract.order import Order, Task
from afresh.contract.overlap import overlap
from afresh.contract.report import ANY_PATH
from afresh.contract.words import Marker
from afresh.episode.briefing import planned
from afresh.episode.git import worktree
from afresh.episode.git.bare_repositories import BareFolders
from afresh.episode.git.faults import GitError
from afresh.episode.git.fetching import BranchStart
from afresh.episode.git.push import moved
from afresh.episode.git.repository import GitRepository
from afresh.episode.git.snapshot import Snapshot, changes_of, refuse_bare


def rebase(git: GitRepository, order: Order, snapshot: Snapshot, start: BranchStart) -> Snapshot:
    """Return the changes of `snapshot` on top of the head of `start`.

    Raises SubtaskStopped if they conflict.
    """
    ours = git.commit_tree(snapshot.tree, snapshot.head, "Changes\n")
    try:
        # Without this, an unrelated or rewritten branch would be merged without a common base.
        git.run("merge-base", "--is-ancestor", snapshot.head, start.head)
    except GitError as error:
        raise moved(order) from error
    try:
        merged = git.text("merge-tree", "--write-tree", "--no-messages", start.head, ours)
    except GitError as error:
        raise moved(order, _in_both(git, snapshot, start)) from error
    refuse_bare(snapshot.changes, _bare_folders(git, merged))
    return replace(snapshot, head=start.head, tree=merged)


def _bare_folders(git: GitRepository, tree: str) -> BareFolders:
    """Collect the paths of the merged tree: two changes may form a bare repository together."""
    bare = BareFolders()
    for path in os.fsdecode(git.run("ls-tree", "-r", "-t", "-z", "--name-only", tree)).split("\0"):
        bare.add(path)
    return bare


def _in_both(git: GitRepository, snapshot: Snapshot, start: BranchStart) -> tuple[str, ...]:
    """Return the agent's paths that the branch has changed too, or that contain such a path."""
    theirs = [change.path for change in changes_of(git, snapshot.head, start.head)]
    theirs = [path for path in theirs if not path.startswith(f"{worktree.STATE}/")]
    ours = [change.path for change in snapshot.changes]
    both = [path for path in ours if overlap((path,), theirs)]
    return tuple(both) or ANY_PATH


def plan_at(git: GitRepository, order: Order, task: Task, head: str) -> str:
    """Return the plan at `head`, with only this subtask's marker changed."""
    text = git.read(head, worktree.PLAN).decode(errors="replace")
    try:
        return plan_file.with_marker(text, task.id, Marker.DONE)
    except KeyError:
        return planned(order, task, Marker.DONE)

"""Fetches verified work that could not be pushed earlier, from the subtask's side ref.

Owns how a commit on a side ref is read. It is trusted only if it has the id that the Order names.
"""

from dataclasses import dataclass

from afresh.contract.order import Order
from afresh.episode.git import history, refusals, side_ref, snapshot, worktree
from afresh.episode.git.faults import GitError, GitFault
from afresh.episode.git.repository import FETCH, REMOTE_SECONDS, GitRepository
from afresh.episode.git.snapshot import Snapshot
from afresh.episode.outbox import Outbox

REF = "refs/afresh/kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCommit:
    """A fetched commit, and the parent on which it was verified."""

    id: str
    parent: str


def fetch(git: GitRepository, order: Order, subtask: str, commit: str) -> KeptCommit | None:
    """Fetch `commit` from the subtask's side ref; None if it is no longer there.

    Raises SubtaskStopped if the remote cannot be used.
    """
    ref = side_ref.side_ref(order, subtask)
    try:
        git.run(
            *(*FETCH, "--depth=2", "--", order.repository.url, f"+{ref}:{REF}"),
            timeout=REMOTE_SECONDS,
        )
        if git.text("rev-parse", REF) != commit:
            return None
        return KeptCommit(id=commit, parent=git.text("rev-parse", f"{REF}^"))
    except GitError as error:
        if error.fault in (GitFault.REF_MISSING, GitFault.OTHER):
            return None
        raise refusals.remote_problem(order, error) from error


def snapshot_of(git: GitRepository, found: KeptCommit) -> Snapshot:
    """Return the work of a kept commit in the form of a worktree's snapshot. Raises GitError."""
    (commit,) = history.read_commits(git, found.id, most=1)
    index = git.git_dir / "kept-index"
    git.run("read-tree", found.id, index=index)
    git.run("rm", "--cached", "-r", "-q", "--ignore-unmatch", "--", worktree.STATE, index=index)
    if git.run("ls-tree", found.parent, "--", worktree.STATE):
        git.run("read-tree", f"--prefix={worktree.STATE}/", f"{found.parent}:{worktree.STATE}",
                index=index)  # fmt: skip
    tree = git.text("write-tree", index=index)
    return Snapshot(
        head=found.parent,
        tree=tree,
        changes=snapshot.changes_of(git, found.parent, tree),
        outbox=Outbox(
            summary=commit.body or None,
            discovery=_note(git, found, worktree.DISCOVERY),
            ideas=_note(git, found, worktree.IDEAS),
        ),
    )


def _note(git: GitRepository, found: KeptCommit, path: str) -> str | None:
    """Return the text that the commit appended to a file of notes, without its heading."""
    before, after = git.read(found.parent, path), git.read(found.id, path)
    added = after[len(before) :] if after.startswith(before) else b""
    _, _, note = added.decode(errors="replace").partition("\n## ")
    return note.partition("\n\n")[2].strip() or None

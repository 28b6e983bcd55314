"""Contents of a checkout that git stores in another form: submodules and files in Git LFS.

Owns the conversion in both directions: to the tree that is laid out, and to the tree that is
committed. A package that uses neither costs nothing here.
"""

from pathlib import Path

from afresh.contract.order import Order
from afresh.episode.git.repository import GitRepository


def tree_to_check_out(git: GitRepository, order: Order, commit: str) -> str:
    """Return the tree to lay out for `commit`: the commit itself if nothing must be replaced.

    Raises SubtaskStopped if a part of it cannot be fetched, and GitError.
    """
    if not _asks(order):
        return commit
    from afresh.episode.git import submodules  # noqa: PLC0415  # seldom needed
    from afresh.episode.git.lfs import files  # noqa: PLC0415  # seldom needed

    index = git.git_dir / "shown-index"
    git.run("read-tree", commit, index=index)
    files.put_in(git, order, index)
    submodules.put_in(git, order, commit, index)
    return git.text("write-tree", index=index)


def tree_to_commit(
    git: GitRepository, order: Order, commit: str, index: Path
) -> tuple[str, tuple[str, ...]]:
    """Return the tree to commit on top of `commit` for what is staged in `index`, and warnings.

    The warnings are sentences about changes that are not kept. Raises SubtaskStopped, GitError or
    OSError.
    """
    if not _asks(order):
        return git.text("write-tree", index=index), ()
    from afresh.episode.git import submodules  # noqa: PLC0415  # as above
    from afresh.episode.git.lfs import files  # noqa: PLC0415  # as above

    warnings = submodules.take_out(git, order, commit, index)
    files.take_out(git, order, commit, index)
    return git.text("write-tree", index=index), warnings


def missing(git: GitRepository, order: Order, commit: str) -> tuple[str, ...]:
    """Return a sentence for each submodule that the package lists and `commit` does not have."""
    if not order.repository.submodules:
        return ()
    from afresh.episode.git import submodules  # noqa: PLC0415  # as above

    return submodules.absent(git, order, commit)


def publish(git: GitRepository, order: Order) -> None:
    """Upload the large files that commits made here need. Raises SubtaskStopped."""
    if not order.repository.lfs:
        return
    from afresh.episode.git.lfs import files  # noqa: PLC0415  # as above

    files.upload(git, order)


def _asks(order: Order) -> bool:
    return bool(order.repository.submodules) or order.repository.lfs

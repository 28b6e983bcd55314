"""Lays out checkouts: the agent's worktree with its throw-away repository, and verify's.

Owns what of a commit is shown to whom. Nothing here reads what an agent has written, except to
remove it. Nothing of the branch's history reaches the worktree, and the same head gives the same
bytes and times there.
"""

import contextlib
import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from afresh.episode.git.repository import GitRepository
from afresh.episode.git.sandbox_repository import ThrowAway
from afresh.episode.removal import remove

STATE = ".afresh"
PLAN = f"{STATE}/PLAN.md"
DISCOVERY = f"{STATE}/DISCOVERY.md"
IDEAS = f"{STATE}/IDEAS.md"
OUTBOX = f"{STATE}/outbox"

REGULAR = "100644"
NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorktreeLayout:
    """What the agent finds: the files of `tree`, this plan, and a repository on `branch`.

    `tree` is a commit or a tree; nothing of a commit's history is looked at.
    """

    tree: str
    date: int
    branch: str
    plan: str


def lay_out(
    git: GitRepository, layout: WorktreeLayout, worktree: Path, kept: frozenset[str] = NOTHING
) -> None:
    """Fill `worktree`, where nothing is but what was `kept`. Its repository has one commit."""
    index = git.git_dir / "shown"
    git.run("read-tree", layout.tree, index=index)
    state = git.run("ls-files", "-z", "--", STATE, index=index)
    removed = b"".join(b"0 %040d\t%s\0" % (0, path) for path in state.split(b"\0") if path)
    plan = f"{REGULAR} {git.store(layout.plan.encode())}\t{PLAN}\0".encode()
    git.run("update-index", "-z", "--index-info", stdin=removed + plan, index=index)
    repository = ThrowAway(git, index, layout.date)
    worktree.mkdir(parents=True, exist_ok=True)
    git.run("checkout-index", "--all", "--force", f"--prefix={worktree}/", index=index)
    repository.write(worktree / ".git", layout.branch)
    (worktree / OUTBOX).mkdir(exist_ok=True)
    set_times(worktree, layout.date, kept)


def clear(git: GitRepository, worktree: Path) -> frozenset[str]:
    """Remove everything but the files that git ignores; return those, folders as a whole.

    Nobody else may be at work in there.
    """
    listed = git.run(
        *("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"),
        tree=worktree,
    )
    names = (name.rstrip("/") for name in os.fsdecode(listed).split("\0"))
    kept = frozenset(name for name in names if name.partition("/")[0] not in ("", ".git", STATE))
    above = {str(parent) for name in kept for parent in PurePosixPath(name).parents}
    folders = [""]
    while folders:
        prefix = folders.pop()
        with contextlib.suppress(PermissionError):  # the volume's root belongs to the node
            (worktree / prefix).chmod(stat.S_IRWXU)
        with os.scandir(worktree / prefix) as entries:
            found = [entry for entry in entries if f"{prefix}{entry.name}" not in kept]
        for entry in found:
            path = f"{prefix}{entry.name}"
            if path in above and entry.is_dir(follow_symlinks=False):
                folders.append(f"{path}/")
            else:
                remove(entry)
    return kept


def plan_text(git: GitRepository, head: str) -> str:
    """Return the plan file of a commit; empty if there is none."""
    return git.read(head, PLAN).decode(errors="replace")


def check_out(git: GitRepository, files: str, branch: str, directory: Path) -> Path:
    """Fill `directory` with the files of a commit or tree and nothing else; return their index.

    It has a repository too: some test suites and build tools ask git for the list of files.
    """
    empty(directory)
    index = git.git_dir / "checked-out"
    git.run("read-tree", files, index=index)
    repository = ThrowAway(git, index, int(time.time()))
    git.run("checkout-index", "--all", "--force", "--index", index=index, tree=directory)
    repository.write(directory / ".git", branch)
    return index


def empty(directory: Path) -> None:
    """Remove everything in `directory`, which must not be in use by others any more."""
    directory.mkdir(parents=True, exist_ok=True)
    with os.scandir(directory) as entries:
        for entry in list(entries):
            remove(entry)


def set_times(directory: Path, date: int, kept: frozenset[str] = NOTHING) -> None:
    """Give everything below `directory` but what was kept, and itself, one modification time."""
    spared = {str(directory / name) for name in kept}
    folders = [str(directory)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            found = [entry for entry in entries if entry.path not in spared]
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            os.utime(entry.path, (date, date), follow_symlinks=False)
    with contextlib.suppress(PermissionError):  # a volume's root belongs to the node
        os.utime(directory, (date, date))

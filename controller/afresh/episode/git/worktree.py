"""Lays out checkouts: the agent's worktree and verify's, each with its sandbox repository.

Owns which files of a commit an agent or verify can see. Nothing here reads what an agent has
written, except to remove it. The branch's history does not reach the worktree, and the same head
gives the same bytes and times there.
"""

import contextlib
import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from afresh.episode.git.repository import GitRepository
from afresh.episode.git.sandbox_repository import SandboxRepository
from afresh.removal import remove

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

    `tree` is a commit or a tree; the history of a commit is not used. `date` is in seconds since
    the epoch.
    """

    tree: str
    date: int
    branch: str
    plan: str


def lay_out(
    git: GitRepository, layout: WorktreeLayout, worktree: Path, kept: frozenset[str] = NOTHING
) -> None:
    """Fill `worktree`, which may contain only the paths in `kept`, and give it a repository."""
    index = git.git_dir / "shown"
    git.run("read-tree", layout.tree, index=index)
    state = git.run("ls-files", "-z", "--", STATE, index=index)
    removed = b"".join(b"0 %040d\t%s\0" % (0, path) for path in state.split(b"\0") if path)
    plan = f"{REGULAR} {git.store(layout.plan.encode())}\t{PLAN}\0".encode()
    git.run("update-index", "-z", "--index-info", stdin=removed + plan, index=index)
    repository = SandboxRepository(git, index, layout.date)
    worktree.mkdir(parents=True, exist_ok=True)
    git.run("checkout-index", "--all", "--force", f"--prefix={worktree}/", index=index)
    repository.write(worktree / ".git", layout.branch)
    (worktree / OUTBOX).mkdir(exist_ok=True)
    set_times(worktree, layout.date, kept)


def clear(git: GitRepository, worktree: Path) -> frozenset[str]:
    """Remove everything but the files that git ignores, and return the paths of those.

    A folder of which everything is ignored is one path. No other process may use the worktree.
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
    """Return the text of a commit's plan file; empty if there is none."""
    return git.read(head, PLAN).decode(errors="replace")


def check_out(git: GitRepository, files: str, branch: str, directory: Path) -> Path:
    """Fill `directory` with the files of a commit or tree only; return the path of their index.

    It gets a repository too: some test suites and build tools ask git for the list of files.
    """
    empty(directory)
    index = git.git_dir / "checked-out"
    git.run("read-tree", files, index=index)
    repository = SandboxRepository(git, index, int(time.time()))
    git.run("checkout-index", "--all", "--force", "--index", index=index, tree=directory)
    repository.write(directory / ".git", branch)
    return index


def empty(directory: Path) -> None:
    """Remove everything in `directory`, which no other process may be using."""
    directory.mkdir(parents=True, exist_ok=True)
    with os.scandir(directory) as entries:
        for entry in list(entries):
            remove(entry)


def set_times(directory: Path, date: int, kept: frozenset[str] = NOTHING) -> None:
    """Set the modification time of `directory` and of everything in it but the kept paths."""
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

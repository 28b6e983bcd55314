"""Lays out checkouts: the agent's worktree with its throw-away repository, and verify's.

Owns what of a commit is shown to whom. Nothing here reads what an agent has written, except to
remove it.
"""

import contextlib
import os
import shutil
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from afresh.episode import throw_away
from afresh.episode.git import Git

STATE = ".afresh"
PLAN = f"{STATE}/PLAN.md"
DISCOVERY = f"{STATE}/DISCOVERY.md"
IDEAS = f"{STATE}/IDEAS.md"
OUTBOX = f"{STATE}/outbox"

REGULAR = "100644"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What the agent finds: the files of `head`, this plan, and a repository on `branch`."""

    head: str
    date: int
    branch: str
    plan: str


def lay_out(git: Git, layout: Layout, worktree: Path) -> None:
    """Fill the empty directory `worktree`. Its repository holds one commit and no history."""
    index = git.git_dir / "shown"
    git.run("read-tree", layout.head, index=index)
    state = git.run("ls-files", "-z", "--", STATE, index=index)
    removed = b"".join(b"0 %040d\t%s\0" % (0, path) for path in state.split(b"\0") if path)
    plan = f"{REGULAR} {git.store(layout.plan.encode())}\t{PLAN}\0".encode()
    git.run("update-index", "-z", "--index-info", stdin=removed + plan, index=index)
    worktree.mkdir(parents=True, exist_ok=True)
    git.run("checkout-index", "--all", "--force", f"--prefix={worktree}/", index=index)
    throw_away.write(git, worktree / ".git", index, layout.branch, layout.date)
    (worktree / OUTBOX).mkdir(exist_ok=True)
    set_times(worktree, layout.date)


def check_out(git: Git, commit: str, branch: str, directory: Path) -> Path:
    """Fill `directory` with the files of `commit` and nothing else; return the index of it.

    It has a repository too: some test suites and build tools ask git for the list of files.
    """
    empty(directory)
    index = git.git_dir / "checked-out"
    git.run("read-tree", commit, index=index)
    git.run("checkout-index", "--all", "--force", "--index", index=index, tree=directory)
    throw_away.write(git, directory / ".git", index, branch, int(time.time()))
    return index


def empty(directory: Path) -> None:
    """Remove everything in `directory`, which must not be in use by others any more."""
    directory.mkdir(parents=True, exist_ok=True)
    with os.scandir(directory) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                _open_up(Path(entry.path))
                shutil.rmtree(entry.path)
            else:
                Path(entry.path).unlink()


def set_times(directory: Path, date: int) -> None:
    """Give everything below `directory`, and itself, one modification time."""
    for folder, names, files in os.walk(directory):
        for name in (*names, *files):
            os.utime(Path(folder, name), (date, date), follow_symlinks=False)
    with contextlib.suppress(PermissionError):  # a volume's root belongs to the node
        os.utime(directory, (date, date))


def _open_up(directory: Path) -> None:
    """Make directories removable that somebody locked."""
    directory.chmod(stat.S_IRWXU)
    for folder, names, _ in os.walk(directory):
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(stat.S_IRWXU)


def write_home(home: Path, files: Mapping[str, str]) -> None:
    """Write the agent program's own configuration below its HOME."""
    for name, content in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")

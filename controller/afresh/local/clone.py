"""The person's own clone: where it is, what it has, and what may be done with it.

Only branches whose names begin with the packages' are ever written, by git's own fetch and push.
"""

import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path


class CloneError(Exception):
    """The clone cannot be used; the message is one sentence with the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clone:
    """A clone: its work tree, and the folder that its work trees share."""

    tree: Path
    common: Path

    @classmethod
    def around(cls, folder: Path) -> "Clone":
        """Return the clone that `folder` is in. Raises CloneError."""
        try:
            found = _git(folder, "rev-parse", "--show-toplevel", "--git-common-dir")
        except FileNotFoundError as error:
            raise CloneError("git is not installed; install it.") from error
        except subprocess.CalledProcessError as error:
            raise CloneError(
                f"{folder} is not in a clone of a git repository; go to one, or make one with"
                " git init and a first commit."
            ) from error
        tree, common = found.splitlines()
        return cls(tree=Path(tree), common=(folder / common).resolve())

    @property
    def digest(self) -> str:
        """A short text that names this clone among all of this person's."""
        return hashlib.sha256(str(self.common).encode()).hexdigest()[:12]

    @property
    def url(self) -> str:
        """The address by which git fetches from it and pushes to it."""
        return self.common.as_uri()

    def has_ref(self, ref: str) -> bool:
        """Whether a branch, tag or commit of that name is there."""
        try:
            _git(self.tree, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
        except subprocess.CalledProcessError:
            return False
        return True

    def head_branch(self) -> str | None:
        """Return the branch that is checked out; None if the head is detached."""
        try:
            return _git(self.tree, "symbolic-ref", "--quiet", "--short", "HEAD").strip()
        except subprocess.CalledProcessError:
            return None

    def checkout_of(self, branch: str) -> Path | None:
        """Return the work tree that has the branch checked out."""
        folder: Path | None = None
        for line in _git(self.tree, "worktree", "list", "--porcelain").splitlines():
            key, _, value = line.partition(" ")
            if key == "worktree":
                folder = Path(value)
            if key == "branch" and value == f"refs/heads/{branch}":
                return folder
        return None


def _git(folder: Path, *arguments: str) -> str:
    """Run git, without any hook. Raises CalledProcessError and FileNotFoundError."""
    return subprocess.run(  # noqa: S603  # arguments are a list, never a shell's
        ["git", "-c", "core.hooksPath=/dev/null", *arguments],  # noqa: S607
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout

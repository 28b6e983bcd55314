"""The person's own clone: where it is, what it has, and what may be done with it.

Only branches whose names begin with the packages' are ever written, by git's own fetch and push.
"""

import hashlib
import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

WITHOUT_PROGRAMS = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")


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
        except (FileNotFoundError, NotADirectoryError) as error:
            missing = "git is not installed; install it." if folder.is_dir() else ""
            raise CloneError(missing or f"{folder} is not a folder; go to a clone.") from error
        except subprocess.CalledProcessError as error:
            if "dubious ownership" in error.stderr:
                raise CloneError(
                    f"{folder} belongs to another user; if you trust what is in it, run git config"
                    f" --global --add safe.directory {shlex.quote(str(folder.resolve()))}."
                ) from error
            raise CloneError(
                f"{folder} is not in the work tree of a git repository; go to one, or make one"
                " with git init and a first commit."
            ) from error
        tree, common = found.removesuffix("\n").split("\n")
        return cls(tree=Path(tree), common=(folder / common).resolve())

    def check(self, branch: str, base: str) -> None:
        """Raise CloneError if work that starts from `base` cannot be put on `branch`."""
        self._check_whole()
        if not self.has_ref(base):
            raise CloneError(self._without(base))
        tree = self.checkout_of(branch)
        if tree:
            raise CloneError(
                f"The branch {branch} is checked out in {tree}; check out another one there, since"
                " the work is put on it."
            )
        other = self._in_the_way_of(branch)
        if other:
            raise CloneError(
                f"Beside the branch {other} there cannot be one called {branch}; rename it, or set"
                " spec.repository.branch."
            )
        if not os.access(self.common / "objects", os.W_OK):
            raise CloneError(
                f"{self.common} cannot be written, so no branch can be made in it; run afresh as"
                " the user that it belongs to."
            )

    def _check_whole(self) -> None:
        if (self.common / "shallow").exists():
            raise CloneError(
                f"{self.tree} is a shallow clone, which lacks the history that work is put on; run"
                " git fetch --unshallow in it."
            )
        promised = "remote\\..*\\.promisor"
        if _git(self.tree, "config", "--get-regexp", promised, may_fail=True):
            raise CloneError(
                f"{self.tree} is a partial clone, which lacks files that an agent needs; make a"
                " whole one with git clone."
            )

    def _without(self, base: str) -> str:
        if not _git(self.tree, "for-each-ref", "--count=1"):
            return f"{self.tree} has no commit yet; make a first one with git commit."
        return (
            f"{self.tree} has no branch or tag called {base}; make it with git branch, or correct"
            " spec.repository.baseRef."
        )

    def _in_the_way_of(self, branch: str) -> str | None:
        """Return a branch beside which git cannot have `branch`: one is a folder of the other."""
        parts = branch.split("/")
        folders = ["/".join(parts[:count]) for count in range(1, len(parts))]
        patterns = [f"refs/heads/{name}" for name in folders]
        found = _git(
            self.tree, "for-each-ref", "--format=%(refname)", *patterns, f"refs/heads/{branch}/"
        )
        names = [line.removeprefix("refs/heads/") for line in found.split("\n") if line]
        taken = [name for name in names if name in folders or name.startswith(f"{branch}/")]
        return taken[0] if taken else None

    @property
    def has_changes(self) -> bool:
        """Whether the work tree has changes that no commit has: no agent sees them."""
        return bool(_git(self.tree, "status", "--porcelain", "--untracked-files=normal"))

    @property
    def digest(self) -> str:
        """A short text that names this clone among all of this person's."""
        return hashlib.sha256(str(self.common).encode()).hexdigest()[:12]

    @property
    def url(self) -> str:
        """The address by which git fetches from it and pushes to it."""
        return self.common.as_uri()

    def has_ref(self, ref: str) -> bool:
        """Whether a branch or a tag of that name is there, as a fetch finds them."""
        names = [f"refs/{kind}/{ref}" for kind in ("tags", "heads", "remotes")]
        found = _git(self.tree, "for-each-ref", "--format=%(refname)", *names).split("\n")
        return any(name in found for name in names)

    def head_branch(self) -> str | None:
        """Return the branch that is checked out; None if the head is detached."""
        found = _git(self.tree, "symbolic-ref", "--quiet", "--short", "HEAD", may_fail=True)
        return found.strip() or None

    def checkout_of(self, branch: str) -> Path | None:
        """Return the work tree that has the branch checked out."""
        folder: Path | None = None
        for line in _git(self.tree, "worktree", "list", "--porcelain").split("\n"):
            key, _, value = line.partition(" ")
            if key == "worktree":
                folder = Path(value)
            if key == "branch" and value == f"refs/heads/{branch}":
                return folder
        return None


def _git(folder: Path, *arguments: str, may_fail: bool = False) -> str:
    """Run git without any hook, and without a write that it does not need.

    Raises CalledProcessError, unless it `may_fail`, and FileNotFoundError.
    """
    # A git that has started this program, as a hook or an alias, may mean another repository.
    known = {name: value for name, value in os.environ.items() if not _names_repository(name)}
    return subprocess.run(  # noqa: S603  # arguments are a list, never a shell's
        ["git", *WITHOUT_PROGRAMS, *arguments],  # noqa: S607
        cwd=folder,
        check=not may_fail,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="surrogateescape",
        env=known | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
    ).stdout


def _names_repository(variable: str) -> bool:
    return variable.startswith("GIT_") and not variable.startswith("GIT_CONFIG")

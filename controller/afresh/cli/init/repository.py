"""What a package needs to know of the person's repository. Reads HEAD, and writes nothing."""

import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import click

SECONDS = 60
LARGEST_FILE = 256 * 1024
MOST_LANGUAGES = 3
# What git sets for a hook would lead to another repository.
_GIT_VARIABLES = frozenset(
    f"GIT_{name}"
    for name in (
        "ALTERNATE_OBJECT_DIRECTORIES", "COMMON_DIR", "CONFIG", "CONFIG_COUNT",
        "CONFIG_PARAMETERS", "DIR", "GRAFT_FILE", "IMPLICIT_WORK_TREE", "INDEX_FILE",
        "INTERNAL_SUPER_PREFIX", "NAMESPACE", "NO_REPLACE_OBJECTS", "OBJECT_DIRECTORY", "PREFIX",
        "REPLACE_REF_BASE", "SHALLOW_FILE", "WORK_TREE",
    )
)  # fmt: skip
_LANGUAGES = {
    ".c": "C", ".cc": "C++", ".cpp": "C++", ".cs": "C#", ".ex": "Elixir", ".exs": "Elixir",
    ".go": "Go", ".java": "Java", ".js": "JavaScript", ".jsx": "JavaScript", ".kt": "Kotlin",
    ".mjs": "JavaScript", ".php": "PHP", ".py": "Python", ".rb": "Ruby", ".rs": "Rust",
    ".scala": "Scala", ".sh": "Shell", ".swift": "Swift", ".ts": "TypeScript",
    ".tsx": "TypeScript",
}  # fmt: skip
_CREDENTIALS = re.compile(r"^(https?://)[^/]*@|^(ssh://[^/:@]*):[^/]*(@)")


class NoRepositoryError(click.ClickException):
    """The current folder has nothing that a package could be about."""

    exit_code = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryFacts:
    """What HEAD and the settings of a clone say."""

    root: Path
    commit: str
    files: tuple[str, ...]
    """The paths of all files of HEAD."""
    origin: str | None
    """The address of the remote, without credentials."""
    base: str
    """The branch from which work starts."""

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of most files, the commonest first."""
        found = (_LANGUAGES.get(PurePosixPath(path).suffix) for path in self.files)
        counted = Counter(language for language in found if language)
        return tuple(language for language, _ in counted.most_common(MOST_LANGUAGES))

    def read(self, path: str) -> str | None:
        """Return a file of HEAD; None if there is none, or it is no text of a usual size."""
        if path not in self.files:
            return None
        size = git(self.root, "cat-file", "-s", f"{self.commit}:{path}")
        if not size or int(size) > LARGEST_FILE:
            return None
        return git(self.root, "cat-file", "blob", f"{self.commit}:{path}")


def read_repository(folder: Path) -> RepositoryFacts:
    """Return the facts about the clone that `folder` is in. Raises NoRepositoryError."""
    root = git(folder, "rev-parse", "--show-toplevel")
    if not root:
        raise NoRepositoryError(
            f"{folder} is in no clone of a git repository: change to one, or run git init."
        )
    commit = git(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not commit:
        raise NoRepositoryError("The repository has no commit yet: commit what there is first.")
    place = Path(root)
    listed = git(place, "ls-tree", "-r", "--name-only", "-z", commit, stripped=False) or ""
    origin = git(place, "remote", "get-url", "origin")
    return RepositoryFacts(
        root=place,
        commit=commit,
        files=tuple(path for path in listed.split("\0") if path),
        origin=_CREDENTIALS.sub(r"\1\2\3", origin) if origin else None,
        base=_base(place),
    )


def _base(root: Path) -> str:
    remote = git(root, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
    if remote:
        return remote.removeprefix("origin/")
    return git(root, "symbolic-ref", "--quiet", "--short", "HEAD") or "main"


def plain_environment() -> dict[str, str]:
    """Return this process's environment without what leads git to another repository."""
    return {key: value for key, value in os.environ.items() if key not in _GIT_VARIABLES}


def git(folder: Path, *arguments: str, stripped: bool = True) -> str | None:
    """Return what git prints; None if it fails. Raises NoRepositoryError where there is no git."""
    command = ["git", "-C", str(folder), "-c", "core.fsmonitor=false", *arguments]
    try:
        done = subprocess.run(  # noqa: S603  # the person's own git, without a shell
            command,
            env=plain_environment() | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise NoRepositoryError("git is not installed: install it first.") from None
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = done.stdout.decode(errors="replace")
    if done.returncode:
        return None
    return text.strip() if stripped else text

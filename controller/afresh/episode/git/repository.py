"""Runs the git program on a repository that only the runner can write to.

Owns git's environment and configuration: no hooks, no filters, no attributes, no system, user or
worktree configuration, no prompts, and no credential on a command line or in the environment. Knows
nothing about branches and subtasks; `faults` classifies failures.
"""

import contextlib
import hashlib
import math
import os
import shutil
import signal
import subprocess
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from afresh.episode.git.faults import GitError, classify

LOCAL_SECONDS = 300
REMOTE_SECONDS = 180
FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")

# With git's defaults, a few large files would need more memory than the runner's container has.
# Files over core.bigFileThreshold are processed in pieces; smaller ones are compared with each
# other within pack.windowMemory, of which each thread has its own.
CONFIG = """\
[core]
\tbigFileThreshold = 32m
\trepositoryformatversion = 0
\tbare = false
\tfilemode = true
\tsymlinks = true
\tlogallrefupdates = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tfsmonitor = false
\tuntrackedCache = false
\tautocrlf = false
\tsafecrlf = false
\tpreloadIndex = true
\tprotectHFS = true
\tprotectNTFS = true
[gc]
\tauto = 0
[maintenance]
\tauto = false
[advice]
\taddEmbeddedRepo = false
[diff]
\tignoreSubmodules = all
\tnoprefix = false
[ssh]
\tvariant = ssh
[pack]
\twindowMemory = 64m
[submodule]
\trecurse = false
[fetch]
\trecurseSubmodules = false
[push]
\trecurseSubmodules = no
[commit]
\tgpgSign = false
[protocol]
\tversion = 2
\tallow = never
[protocol "http"]
\tallow = always
[protocol "https"]
\tallow = always
[protocol "ssh"]
\tallow = always
[http]
\tfollowRedirects = false
\tlowSpeedLimit = 100
\tlowSpeedTime = 60
[include]
\tpath = credentials
"""
# These have the highest precedence, so that no file of the repository can request a conversion.
ATTRIBUTES = "* -text -crlf !eol -ident -filter !working-tree-encoding\n"

# The same for every commit, so that an agent learns nothing about earlier authors from it.
AUTHOR = "Afresh <afresh@localhost>"
LOCAL_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitIdentity:
    """The author of a commit as `NAME <EMAIL>`, and the function that signs it, if any."""

    author: str = AUTHOR
    sign: Callable[[bytes], str] | None = None


NOBODY = CommitIdentity()


def search_path() -> str:
    """Return the PATH of the image, or the system's default."""
    return os.environ.get("PATH", os.defpath)


class RunningGit:
    """A running git command."""

    def __init__(self, name: str, process: "subprocess.Popen[bytes]") -> None:
        self._name = name
        self._process = process

    def feed(self, stdin: bytes) -> None:
        """Write the whole standard input, of at most 4 KiB, and close it."""
        pipe, self._process.stdin = self._process.stdin, None
        if pipe:
            with contextlib.suppress(BrokenPipeError), pipe:
                pipe.write(stdin)

    def output(self, stdin: bytes | None = None, timeout: float = LOCAL_SECONDS) -> bytes:
        """Wait at most `timeout` seconds for the end, and return the standard output.

        Raises GitError if git fails or does not end in time; in the latter case it is killed.
        """
        timeout = max(0.0, timeout)
        try:
            out, err = self._process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()
            raise GitError(self._name, f"no answer within {timeout:.0f} seconds") from None
        if self._process.returncode:
            # A push reports refusals on its standard output.
            said = "\n".join(text.decode(errors="replace").strip() for text in (err, out))
            raise GitError(self._name, said, fault=classify(said))
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class GitRepository:
    """One trusted repository. No command runs beyond `deadline`, a value of time.monotonic()."""

    git_dir: Path
    deadline: float = math.inf

    def create(self) -> None:
        """Create an empty repository."""
        for name in ("objects", "refs", "info"):
            (self.git_dir / name).mkdir(parents=True, exist_ok=True)
        (self.git_dir / "HEAD").write_text("ref: refs/heads/none\n")
        (self.git_dir / "config").write_text(CONFIG)
        (self.git_dir / "info" / "attributes").write_text(ATTRIBUTES)

    def recreate(self) -> None:
        """Replace the repository by an empty one."""
        for name in ("objects", "refs"):
            shutil.rmtree(self.git_dir / name, ignore_errors=True)
        (self.git_dir / "shallow").unlink(missing_ok=True)
        self.create()

    def exclude(self, patterns: Sequence[str]) -> None:
        """Set the ignore patterns of untracked files that are never staged."""
        (self.git_dir / "info" / "exclude").write_text("".join(f"{item}\n" for item in patterns))

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        index: Path | None = None,
        tree: Path | None = None,
        extra: Mapping[str, str] | None = None,
        timeout: float = LOCAL_SECONDS,
    ) -> bytes:
        """Run git and return its output. Raises GitError.

        `index` is an index file to use instead of the repository's own, `tree` the working tree.
        `extra` are additional environment variables. `timeout` is in seconds.
        """
        running = self._start(arguments, index=index, tree=tree, extra=extra)
        return running.output(stdin, min(timeout, self.deadline - time.monotonic()))

    def start(self, *arguments: str, stdin: bytes = b"", index: Path | None = None) -> "RunningGit":
        """Start git with a short standard input, and return at once."""
        running = self._start(arguments, index=index)
        running.feed(stdin)
        return running

    def text(self, *arguments: str, index: Path | None = None, stdin: bytes = b"") -> str:
        """Run git and return its output as one stripped text. Raises GitError."""
        return self.run(*arguments, index=index, stdin=stdin).decode(errors="replace").strip()

    def store(self, content: bytes) -> str:
        """Write a blob and return its id."""
        return self._write("blob", content)

    def commit_tree(
        self,
        tree: str,
        parent: str | None,
        text: str,
        date: int | None = None,
        identity: CommitIdentity = NOBODY,
    ) -> str:
        """Write a commit and return its id. Without an `identity` it has the fixed author.

        Its date is `date`, in seconds since the epoch, or now. `tree` and `parent` are ids of
        existing objects.
        """
        when = int(time.time()) if date is None else date
        lines = (
            f"tree {tree}",
            *((f"parent {parent}",) if parent else ()),
            f"author {identity.author} {when} +0000",
            f"committer {identity.author} {when} +0000",
        )
        content = "\n".join((*lines, "", text))
        if identity.sign:
            signature = identity.sign(content.encode()).strip().replace("\n", "\n ")
            content = "\n".join((*lines, f"gpgsig {signature}", "", text))
        return self._write("commit", content.encode())

    def read(self, revision: str, path: str) -> bytes:
        """Return the content of a file of a commit; empty if there is no such file."""
        found = self.run("cat-file", "--batch", stdin=f"{revision}:{path}\n".encode())
        head, _, content = found.partition(b"\n")
        if head.split()[1:2] != [b"blob"]:
            return b""
        return content[: int(head.split()[2])]

    def enter(self, lines: Sequence[str], index: Path) -> None:
        """Add entries to an index, each as `MODE ID<tab>PATH`; the mode 0 removes the path."""
        stdin = b"".join(os.fsencode(line) + b"\0" for line in lines)
        self.run("update-index", "-z", "--replace", "--index-info", stdin=stdin, index=index)

    @contextlib.contextmanager
    def reading(self, blob: str) -> Iterator[IO[bytes]]:
        """Provide the content of a blob of any size as a stream, until the block ends."""
        with subprocess.Popen(  # noqa: S603  # as below
            ["git", "cat-file", "blob", blob],  # noqa: S607
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            env=self._environment(None, None),
            cwd=self.git_dir,
        ) as process:
            assert process.stdout  # noqa: S101  # asked for above
            try:
                yield process.stdout
            finally:
                process.kill()

    def _write(self, kind: str, content: bytes) -> str:
        """Write a loose object as git does, which is faster than to start git for it."""
        whole = f"{kind} {len(content)}\0".encode() + content
        name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        path = self.git_dir / "objects" / name[:2] / name[2:]
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(zlib.compress(whole, 1))
        return name

    def _start(
        self,
        arguments: Sequence[str],
        *,
        index: Path | None = None,
        tree: Path | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> "RunningGit":
        process = subprocess.Popen(  # noqa: S603  # arguments are a list, never a shell's
            ["git", *arguments],  # noqa: S607  # the image's git, found by the image's PATH
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment(index, tree) | dict(extra or {}),
            cwd=tree or self.git_dir,
            start_new_session=True,  # a timeout must reach git's own children
        )
        return RunningGit(arguments[0], process)

    def _environment(self, index: Path | None, tree: Path | None) -> dict[str, str]:
        environment = {
            "PATH": search_path(),
            "HOME": str(self.git_dir),
            **LOCAL_ENVIRONMENT,
            "GIT_DIR": str(self.git_dir),
        }
        if index:
            environment["GIT_INDEX_FILE"] = str(index)
        if tree:
            environment["GIT_WORK_TREE"] = str(tree)
        return environment

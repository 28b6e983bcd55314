"""Servers for the tests of the runner, as real processes on loopback, and the remote repository."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "tools" / "fakemodel"
USERNAME = "ada"
PASSWORD = "correct-horse-battery"
DATE = 1_700_000_000


@contextmanager
def serving(module: str, *arguments: str, log: Path) -> Iterator[int]:
    """Run one of the demo's servers on a free port; give that port."""
    command = [sys.executable, "-u", "-m", module, *arguments]
    with log.open("w") as file:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", "0"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
        )
    assert process.stdout
    # Nobody reads the log of requests, and a server whose pipe is full stands still.
    reader = threading.Thread(target=process.stdout.read, daemon=True)
    try:
        port = int(process.stdout.readline().rpartition(":")[2])
        reader.start()
        yield port
    finally:
        process.terminate()
        process.wait(timeout=120)
        reader.join(timeout=120)
        process.stdout.close()


@contextmanager
def serving_git(
    root: Path, folder: Path, module: str = "tools.gitserver.git_server"
) -> Iterator[int]:
    """Serve the repositories below `root` to the one user; credentials and log go to `folder`."""
    (folder / "username").write_text(USERNAME)
    (folder / "password").write_text(PASSWORD)
    files = ("--username-file", str(folder / "username"))
    files += ("--password-file", str(folder / "password"))
    with serving(module, "--root", str(root), *files, log=folder / "log") as port:
        yield port


def git(
    directory: Path, *arguments: str, stdin: str | None = None, index: Path | None = None
) -> str:
    """Run git as a person would, with an identity and nothing of this machine's configuration."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{role}_NAME": "Ada" for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_EMAIL": "ada@example.com" for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_DATE": f"{DATE} +0000" for role in ("AUTHOR", "COMMITTER")},
        **({"GIT_INDEX_FILE": str(index)} if index else {}),
    }
    done = subprocess.run(
        ["git", *arguments],
        cwd=directory,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


@dataclass(frozen=True)
class Remote:
    """A bare repository that is served over HTTP."""

    directory: Path
    url: str

    @classmethod
    def create(cls, root: Path, name: str, port: int) -> "Remote":
        """Make an empty repository that accepts pushes."""
        directory = root / f"{name}.git"
        git(root, "init", "--quiet", "--bare", "--initial-branch=main", str(directory))
        git(directory, "config", "http.receivepack", "true")
        return cls(directory, f"http://127.0.0.1:{port}/{name}.git")

    def head(self, branch: str) -> str | None:
        """The commit of a branch; None if there is no such branch."""
        ref = f"refs/heads/{branch}"
        return git(self.directory, "for-each-ref", "--format=%(objectname)", ref) or None

    def file(self, branch: str, path: str) -> str:
        """A file's content on a branch, without its last line end."""
        return git(self.directory, "show", f"{branch}:{path}")

    def files(self, branch: str) -> list[str]:
        """The paths on a branch."""
        return git(self.directory, "ls-tree", "-r", "--name-only", branch).splitlines()

    def subjects(self, branch: str) -> list[str]:
        """The subjects of a branch's commits, newest first."""
        return git(self.directory, "log", "--format=%s", branch).splitlines()

    def commit_of(self, branch: str, subject: str) -> str:
        """The id of the branch's newest commit with this subject."""
        found = git(
            self.directory,
            "log",
            "-1",
            "--format=%H",
            "--fixed-strings",
            f"--grep={subject}",
            branch,
        )
        assert found, subject
        return found

    def message(self, branch: str) -> str:
        """The message of a branch's newest commit."""
        return git(self.directory, "show", "--no-patch", "--format=%B", branch)

    def commit(
        self, branch: str, files: dict[str, str], *, base: str = "", message: str = "Add files"
    ) -> str:
        """Add a commit with these files to a branch, as somebody with push rights would."""
        index = self.directory / "test-index"
        index.unlink(missing_ok=True)
        parent = self.head(branch) or (self.head(base) if base else None)
        if parent:
            git(self.directory, "read-tree", parent, index=index)
        for path, content in files.items():
            blob = git(self.directory, "hash-object", "-w", "--stdin", stdin=content)
            entry = f"100644,{blob},{path}"
            git(self.directory, "update-index", "--add", "--cacheinfo", entry, index=index)
        tree = git(self.directory, "write-tree", index=index)
        parents = ("-p", parent) if parent else ()
        made = git(self.directory, "commit-tree", tree, *parents, "-m", message)
        git(self.directory, "update-ref", f"refs/heads/{branch}", made)
        return made

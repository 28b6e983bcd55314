"""Runs the real git as a client of the git server, with nobody's configuration."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tests.server_process import TIMEOUT_SECONDS, Server

USER = "robot"
PASSWORD = "pa:ss w\u00f6rd"

_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    **{
        f"GIT_{who}_{key}": value
        for who in ("AUTHOR", "COMMITTER")
        for key, value in {"NAME": "A Person", "EMAIL": "person@example.com"}.items()
    },
}


def repository_url(server: Server, name: str = "ledger.git", password: str = PASSWORD) -> str:
    """Return the URL of a repository, with the user name and the password in it."""
    return f"http://{USER}:{quote(password)}@{server.address}/{name}"


@dataclass(frozen=True)
class Checkout:
    """A worktree, and the git commands that are run in it."""

    path: Path

    def git(self, *arguments: str) -> str:
        """Run git and return what it printed; it must succeed."""
        done = self.try_git(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def try_git(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run git, whatever comes of it."""
        process = self.start_git(*arguments)
        out, err = process.communicate(timeout=TIMEOUT_SECONDS)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def start_git(self, *arguments: str) -> subprocess.Popen[str]:
        """Start git and do not wait for it."""
        return subprocess.Popen(
            ["git", *arguments],
            cwd=self.path,
            env=_ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def commit(self, name: str, content: bytes) -> str:
        """Commit a file and return the commit."""
        (self.path / name).write_bytes(content)
        self.git("add", name)
        self.git("commit", "--quiet", "-m", f"Add {name}")
        return self.git("rev-parse", "HEAD")


def clone(url: str, path: Path) -> Checkout:
    """Clone `url` into `path`."""
    Checkout(path.parent).git("clone", "--quiet", url, str(path))
    return Checkout(path)


def init(path: Path) -> Checkout:
    """Make an empty repository at `path`."""
    Checkout(path.parent).git("init", "--quiet", str(path))
    return Checkout(path)

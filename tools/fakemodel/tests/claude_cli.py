"""Installs and runs the real Claude Code CLI, pinned, as an episode runs it."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from afresh.adapters.claude import ClaudeAdapter
from tests.programs import npm_program
from tests.server_process import TIMEOUT_SECONDS, Server
from tools.fakemodel.tests.model_client import KEY


def install() -> Path:
    """Return the CLI's path; it is installed once into the cache."""
    return npm_program("@anthropic-ai/claude-code", ClaudeAdapter.version, "claude")


@dataclass(frozen=True)
class Run:
    """What a run of the CLI came to."""

    exit_code: int
    events: list[dict[str, Any]]

    @property
    def result(self) -> dict[str, Any]:
        """Return the event that ends every run."""
        assert self.events[-1]["type"] == "result", self.events[-1]
        return self.events[-1]

    @property
    def retries(self) -> int:
        return sum(event.get("subtype") == "api_retry" for event in self.events)


@dataclass(frozen=True)
class Claude:
    """The CLI with an empty home in `home`, working in `worktree`, talking to `server`."""

    path: Path
    server: Server
    home: Path
    worktree: Path

    def run(self, brief: str, *arguments: str, key: str = KEY) -> Run:
        """Give the CLI a brief on its standard input and wait for its end."""
        process = self.start(*arguments, key=key)
        out, err = process.communicate(brief, timeout=TIMEOUT_SECONDS)
        events = [json.loads(line) for line in out.splitlines()]
        assert events, err
        return Run(process.returncode, events)

    def start(self, *arguments: str, key: str = KEY) -> subprocess.Popen[str]:
        """Start the CLI; it reads the brief from its standard input."""
        limits = ["--max-turns", "20", "--permission-mode", "bypassPermissions"]
        return subprocess.Popen(
            [self.path, "-p", "--output-format", "stream-json", "--verbose", *limits, *arguments],
            cwd=self.worktree,
            env=self._environment(key),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _environment(self, key: str) -> dict[str, str]:
        node, python = (shutil.which(name) for name in ("node", "python3"))
        folders = [str(Path(path).parent) for path in (node, python) if path]
        return {
            "PATH": ":".join([*folders, "/usr/bin", "/bin"]),
            "HOME": str(self.home),
            "ANTHROPIC_BASE_URL": f"http://{self.server.address}",
            "ANTHROPIC_API_KEY": key,
            "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",  # as root it would refuse to work unasked
        }

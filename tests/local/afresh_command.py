"""The command `afresh` as a person runs it in a clone: a process of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

CONTROLLER = Path(__file__).parents[2] / "controller"
SECONDS = 120


@dataclass(frozen=True)
class Ran:
    """What a command came to."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Person:
    """A person in a clone, with a state folder and an environment of their own."""

    clone: Path
    environment: dict[str, str] = field(default_factory=dict)

    def started(self, *arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
        """Start the command in the clone."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        state = self.clone.parent / "state"
        return subprocess.Popen(
            [sys.executable, "-m", "afresh.cli", *arguments],
            cwd=self.clone,
            env={
                **kept,
                "PYTHONPATH": str(CONTROLLER),
                "XDG_STATE_HOME": str(state),
                **self.environment,
            },
            **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            | options,
        )

    def afresh(self, *arguments: str, stdin: str = "") -> Ran:
        """Run the command to its end."""
        process = self.started(*arguments)
        out, err = process.communicate(stdin.encode(), timeout=SECONDS)
        return Ran(process.returncode, out.decode(), err.decode())

    def write(self, *documents: Mapping[str, Any], name: str = "package.yaml") -> Path:
        """Write documents into a file of the clone."""
        path = self.clone / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump_all(documents, sort_keys=False))
        return path

    def git(self, *arguments: str) -> str:
        """Run git in the clone."""
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
        return subprocess.run(
            ["git", *identity, *arguments],
            cwd=self.clone,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    @property
    def state(self) -> Path:
        """The folder in which what is known of packages is kept."""
        return self.clone.parent / "state" / "afresh"


def person_with_a_clone(folder: Path) -> Person:
    """Return a person in a new clone with one commit."""
    clone = folder / "my clone"
    clone.mkdir()
    person = Person(clone)
    person.git("init", "--quiet", "--initial-branch", "main")
    (clone / "readme.txt").write_text("Hello.\n")
    person.git("add", ".")
    person.git("commit", "--quiet", "-m", "Begin")
    return person


def script_class(script: str, **spec: Any) -> dict[str, Any]:
    """Return a class whose agent is a shell script."""
    return {
        "apiVersion": "afresh.dev/v1alpha1",
        "kind": "AgentClass",
        "metadata": {"name": "script"},
        "spec": {"adapter": "Command", "command": ["sh", "-c", script], "image": "none:1", **spec},
    }


def package(*ids: str, name: str = "demo", **spec: Any) -> dict[str, Any]:
    """Return a package whose subtasks each have to leave a file."""
    return {
        "apiVersion": "afresh.dev/v1alpha1",
        "kind": "WorkPackage",
        "metadata": {"name": name},
        "spec": {
            "agentClassName": "script",
            "repository": {"url": "https://git.example.com/a/b.git", "baseRef": "main"},
            "verify": {"command": ["sh", "-c", "ls seen-*"]},
            "subtasks": [{"id": id, "title": id, "prompt": f"Do {id}."} for id in ids],
            **spec,
        },
    }

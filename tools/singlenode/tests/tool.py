"""The cluster tool as its users have it: a program that is run."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.singlenode.paths import clusters_home

_TOOL = Path(__file__).parents[1]
_LONGEST_COMMAND_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Tool:
    """The tool, used for one cluster."""

    name: str

    @property
    def root(self) -> Path:
        """The cluster's own directory."""
        return clusters_home() / self.name

    def run(self, *arguments: str, want: int = 0) -> "subprocess.CompletedProcess[str]":
        """Run the tool to its end; fail unless it ends with `want`."""
        answer = subprocess.run(
            [sys.executable, str(_TOOL), *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=_LONGEST_COMMAND_SECONDS,
        )
        assert answer.returncode == want, answer.stderr
        return answer

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Run the tool and do not wait for its end."""
        return subprocess.Popen(
            [sys.executable, str(_TOOL), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def is_half_up(self) -> bool:
        """Whether the tool lists the cluster as incomplete; others may be listed, too."""
        lines = self.run("list").stdout.splitlines()
        return any(line.split()[0] == self.name and line.endswith("incomplete") for line in lines)

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """Run the cluster's own kubectl script; return what it prints."""
        answer = subprocess.run(
            [str(self.root / "kubectl"), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=_LONGEST_COMMAND_SECONDS,
        )
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    def run_pod(self, manifest: dict[str, Any]) -> None:
        """Create a pod and wait until it is ready."""
        self.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
        pod = f"pod/{manifest['metadata']['name']}"
        self.kubectl("wait", pod, "--for=condition=Ready", "--timeout=300s")

    def pid(self, component: str) -> int:
        """The process number of a component."""
        record = (self.root / "processes" / component).read_text()
        return int(record.splitlines()[1].split()[0])

    def kill(self, component: str) -> None:
        """Kill a component, as a crash would."""
        os.kill(self.pid(component), signal.SIGKILL)


def until(condition: Callable[[], bool], *, seconds: float = 180) -> None:
    """Return when `condition` holds; fail if it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)

"""A real node, as the end-to-end tests use it: its tool, its kubectl, its API server."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.api import Api, Manifest

ROOT = Path(__file__).parents[2]
CLUSTER = [sys.executable, str(ROOT / "tools" / "singlenode")]
IMAGES = ("runner", "operator", "agent-claude", "agent-command", "demo")


@dataclass(frozen=True)
class Cluster:
    """One cluster of `tools/singlenode`."""

    name: str
    api: Api

    def run(
        self, *command: str, text: str | None = None, timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside the cluster's network, whatever its end."""
        return subprocess.run(
            [*CLUSTER, "run", self.name, "--", *command],
            input=text,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def kubectl(self, *arguments: str, manifest: Manifest | None = None) -> str:
        """Run kubectl and return what it prints; fails the test if it fails."""
        source = ["-f", "-"] if manifest else []
        text = json.dumps(manifest) if manifest else None
        done = self.run("kubectl", *arguments, *source, text=text)
        assert done.returncode == 0, done.stderr
        return done.stdout


def tool(*words: str) -> None:
    """Run one command of the cluster tool; fails the test if it fails."""
    done = subprocess.run(
        [*CLUSTER, *words], capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


def wait(what: str, holds: Callable[[], Any], *, seconds: float, every: float = 0.2) -> Any:
    """Return the first true answer of `holds`; fails the test if there is none in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = holds()
        if answer:
            return answer
        time.sleep(every)  # the API server is polled, as a user's script would
    raise AssertionError(f"waited {seconds} s in vain until {what}")

"""A real node with the operator in it, as the end-to-end tests use it."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CLUSTER = [sys.executable, str(ROOT / "deploy" / "cluster")]
IMAGES = ("runner", "operator", "agent-claude", "agent-command", "demo")

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Cluster:
    """One cluster of `deploy/cluster`."""

    name: str

    def tool(self, *words: str) -> None:
        """Run one command of the cluster tool; fails the test if it fails."""
        done = subprocess.run(
            [*CLUSTER, *words], capture_output=True, text=True, timeout=1800, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]

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

    def get(self, kind: str, name: str, namespace: str) -> Manifest:
        """Return one object."""
        found: Manifest = json.loads(self.kubectl("get", kind, name, "-n", namespace, "-o", "json"))
        return found

    def items(self, kind: str, namespace: str) -> list[Manifest]:
        """Return all objects of a kind in a namespace."""
        found: list[Manifest] = json.loads(
            self.kubectl("get", kind, "-n", namespace, "-o", "json")
        )["items"]
        return found

    def wait(
        self, what: str, holds: Callable[[], Any], *, seconds: float, every: float = 0.5
    ) -> Any:
        """Return the first true answer of `holds`; fails the test if there is none in time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            answer = holds()
            if answer:
                return answer
            time.sleep(every)  # the API server is polled, as a user's script would
        raise AssertionError(f"waited {seconds} s in vain until {what}")

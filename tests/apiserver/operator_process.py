"""The operator as a process of its own, which a test may kill at any instant."""

import os
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass
class OperatorProcess:
    """Runs `python -m afresh.kube` against the API server of a kubeconfig."""

    kubeconfig: Path
    namespace: str
    log: Path
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        """Start it; returns at once."""
        environment = {
            **os.environ,
            "KUBECONFIG": str(self.kubeconfig),
            "PYTHONPATH": str(ROOT / "controller"),
            "AFRESH_NAMESPACES": self.namespace,
            "AFRESH_RUNNER_IMAGE": "example.com/runner:1",
            "AFRESH_REPORT_PORT": str(_free_port()),
            "AFRESH_METRICS_PORT": str(_free_port()),
        }
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "afresh.kube"], env=environment, stderr=log, stdout=log
            )

    def kill(self) -> None:
        """Kill it with SIGKILL, wherever it is."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(timeout=120)

    def stop(self) -> int:
        """End it with SIGTERM and return its exit status."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(timeout=120)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port

"""The operator as a process of its own, which a test may kill at any instant."""

import http.client
import os
import socket
import subprocess
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from tests.stopped_process import stopped

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@dataclass
class OperatorProcess:
    """Runs `python -m afresh.kube` against the API server of a kubeconfig."""

    kubeconfig: Path
    namespace: str
    log: Path
    settings: dict[str, str] = field(default_factory=dict)
    program: tuple[str, ...] = ("-m", "afresh.kube")
    report_port: int = field(default_factory=free_port)
    metrics_port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        """Start it; returns at once."""
        environment = {
            **os.environ,
            "KUBECONFIG": str(self.kubeconfig),
            "PYTHONPATH": str(ROOT / "controller"),
            "AFRESH_NAMESPACES": self.namespace,
            "AFRESH_RUNNER_IMAGE": "example.com/runner:1",
            "AFRESH_REPORT_PORT": str(self.report_port),
            "AFRESH_METRICS_PORT": str(self.metrics_port),
            **self.settings,
        }
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, *self.program], env=environment, stderr=log, stdout=log
            )

    def kill(self) -> None:
        """Kill it with SIGKILL, wherever it is."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(timeout=120)

    def stopped(self) -> AbstractContextManager[None]:
        """Stop it until the block ends."""
        assert self._process is not None
        return stopped(self._process)

    def wait(self) -> int:
        """Wait for its end and return its exit status."""
        assert self._process is not None
        return self._process.wait(timeout=120)

    def probe(self, path: str) -> tuple[int, str]:
        """Ask one of its probes as the kubelet does; 0 if nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.metrics_port, timeout=60)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError as error:
            return 0, str(error)
        finally:
            connection.close()

    def stop(self) -> int:
        """End it with SIGTERM and return its exit status."""
        assert self._process is not None
        self._process.terminate()
        return self.wait()

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

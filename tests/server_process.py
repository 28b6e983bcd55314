"""Starts the demo's servers as users do: as processes, with secrets in files, on a free port."""

import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TIMEOUT_SECONDS = 60


@dataclass
class Server:
    """A server process that listens at `host`:`port`."""

    process: subprocess.Popen[str]
    host: str
    port: int
    log: list[str] = field(default_factory=list)
    # When each line of the log came.
    moments: list[float] = field(default_factory=list)
    _logged: threading.Condition = field(default_factory=threading.Condition)

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: dict[str, str] | None = None,
    ) -> "Answer":
        """Send one request; an iterator is sent in chunks."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def follow_log(self) -> None:
        """Keep what the process prints, until it ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._logged:
                self.log.append(line)
                self.moments.append(time.time())
                self._logged.notify_all()

    def wait_for_log(self, text: str, after: int) -> None:
        """Wait until `text` stands in the log, the first `after` lines left out."""
        with self._logged:
            found = self._logged.wait_for(
                lambda: any(text in line for line in self.log[after:]), TIMEOUT_SECONDS
            )
        assert found, self.log[after:]

    def peak_memory_bytes(self) -> int:
        """Return the most memory that the process has held so far."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


@dataclass(frozen=True)
class Answer:
    """What a server answered; header names are lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def __post_init__(self) -> None:
        lower = {name.lower(): value for name, value in self.headers.items()}
        object.__setattr__(self, "headers", lower)

    def json(self) -> Any:
        return json.loads(self.body)


@contextmanager
def running(module: str, *arguments: str) -> Iterator[Server]:
    """Run one of the demo's servers until the block ends, and see it end with exit code 0."""
    with start(module, *arguments) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith("listening on "), first + process.stdout.read()
        host, _, port = first.removeprefix("listening on ").strip().rpartition(":")
        server = Server(process, host, int(port))
        reader = threading.Thread(target=server.follow_log)
        reader.start()
        try:
            yield server
        finally:
            process.terminate()
            code = process.wait(TIMEOUT_SECONDS)
            reader.join(TIMEOUT_SECONDS)
    assert code == 0, "".join(server.log)


def start(module: str, *arguments: str) -> subprocess.Popen[str]:
    """Start one of the demo's servers on a free loopback port; stderr goes with stdout."""
    return subprocess.Popen(
        [sys.executable, "-m", module, "--host", "127.0.0.1", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"},
    )

"""A clone with a package, its runs as processes of their own, and agents that wait for a word.

Each start of an agent is told to the test by a connection, which ends when the agent does.
"""

import contextlib
import os
import queue
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from afresh.api.work_package import WorkPackage
from afresh.local.session import Session
from tests.local.clones import class_manifest, package_manifest

LONGEST = 40.0
AGENT = """
id=$(grep -o 'seen-T[0-9]*' | head -1)
exec 3<>/dev/tcp/127.0.0.1/{port}
echo "$id" >&3
read -r word <&3
touch "$id"
"""


def wait_for(what: Callable[[], Any]) -> Any:
    """Return the first true answer."""
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        found = what()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("it did not happen")


@dataclass
class Agent:
    """An agent at work, which waits for a word."""

    subtask: str
    connection: socket.socket

    def go_on(self) -> None:
        self.connection.sendall(b"go\n")

    def ends(self) -> bool:
        """Wait until its connection ends, as it does when the agent is killed."""
        return self.connection.recv(1) == b""


@dataclass
class Agents:
    """Takes the connections of all agents, in the order in which they start."""

    are_free: bool = False
    started: list[str] = field(default_factory=list)
    waiting: "queue.Queue[Agent]" = field(default_factory=queue.Queue)
    connections: list[socket.socket] = field(default_factory=list)
    server: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))

    def listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.server.accept()
                self.connections.append(connection)
                connection.settimeout(LONGEST)
                with connection.makefile() as lines:
                    line = lines.readline().strip().removeprefix("seen-")
                agent = Agent(line, connection)
                self.started.append(line)
                if self.are_free:
                    agent.go_on()
                self.waiting.put(agent)

    def next(self) -> Agent:
        return self.waiting.get(timeout=LONGEST)


@dataclass
class World:
    """A clone with a package, its state, and the runs that the test has begun."""

    clone: Path
    state: Path
    agents: Agents
    runs: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def apply(self, *ids: str, of_class: dict[str, Any] | None = None, **spec: Any) -> None:
        """Apply a package of these subtasks, and its class."""
        script = AGENT.format(port=self.agents.server.getsockname()[1])
        agent_class = class_manifest("bash", "-c", script)
        agent_class["spec"] |= of_class or {}
        Session.around(self.clone).apply(package_manifest(*ids, **spec), agent_class)

    def begin(self, *options: str) -> "subprocess.Popen[bytes]":
        run = subprocess.Popen(
            [
                sys.executable,
                str(Path(__file__).with_name("one_run.py")),
                str(self.clone),
                *options,
            ],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
            stderr=subprocess.PIPE,
        )
        self.runs.append(run)
        return run

    @contextlib.contextmanager
    def closed(self) -> "Iterator[World]":
        """End every run with the block."""
        try:
            yield self
        finally:
            for run in self.runs:
                run.kill()
                run.communicate()

    def finish(self) -> int:
        return self.begin().wait(LONGEST)

    def package(self) -> WorkPackage:
        return Session.around(self.clone).store("demo").package()

    @property
    def episodes(self) -> Path:
        return Session.around(self.clone).store("demo").folder / "episodes"

    def left(self) -> list[int]:
        """The processes that have to do with an episode."""
        known = os.fsencode(self.state)
        places = ("environ", "cmdline", "mountinfo")
        return [pid for pid in _processes() if known in _read(pid, *places)]


def _processes() -> list[int]:
    ours = {os.getpid(), os.getppid()}
    found = (path.name for path in Path("/proc").iterdir())
    return [int(name) for name in found if name.isdigit() and int(name) not in ours]


def _read(pid: int, *names: str) -> bytes:
    found = b""
    with contextlib.suppress(OSError):
        for name in names:
            found += Path(f"/proc/{pid}/{name}").read_bytes()
    return found

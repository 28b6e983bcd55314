"""A shim alone in a PID namespace, under every shell that it promises, and the runner's control."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from afresh.contract.shim import SHIM
from afresh.episode.container.channel import Channel, Command, CommandEnd, StopPatience
from tests.episode.pod import NAMESPACE, require_namespaces
from tests.stopped_process import state_of

SHELLS = {"dash": ("dash",), "bash": ("bash", "--posix"), "busybox": ("busybox", "ash")}
QUICK = StopPatience(after_term=0.2, after_kill=0.5)


@dataclass
class Container:
    """A shim in a PID namespace of its own, and the runner's control of it."""

    control: Channel
    process: subprocess.Popen[bytes]
    directory: Path
    out: bytearray = field(default_factory=bytearray)
    err: bytearray = field(default_factory=bytearray)

    def run(
        self, script: str, *, limit: float = 20, stdin: str | None = None, name: str = "test"
    ) -> CommandEnd:
        command = Command(name=name, script=script, limit=limit, stdin=stdin)
        return self.control.run(command, self.out.extend, self.err.extend, lambda: None)

    @property
    def first_process(self) -> int:
        """The shim's own number, seen from here."""
        return children_of(self.process.pid)[0]


StartShim = Callable[..., Container]


def children_of(process: int) -> list[int]:
    return [
        int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


def sleeps(process: int) -> bool:
    """Whether a process waits, in a call of its own and not for a child."""
    return state_of(process) == "S" and not children_of(process)


def _start(directory: Path, shell: tuple[str, ...], pids_limit: str) -> Container:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed")
    require_namespaces()
    directory.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [*NAMESPACE, *shell, "-c", SHIM],
        env={
            "PATH": os.environ["PATH"],
            "AFRESH_CONTROL": str(directory),
            "AFRESH_PIDS_LIMIT": pids_limit,
        },
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return Container(Channel(directory, ("test", "later"), QUICK), process, directory)


@pytest.fixture(params=SHELLS.values(), ids=SHELLS.keys())
def shell(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return request.param


@pytest.fixture
def start_shim(tmp_path: Path, shell: tuple[str, ...]) -> Iterator[StartShim]:
    """Return what starts a shim, which is killed at the end if it still runs."""
    started: list[Container] = []

    def start(pids_limit: str = "2000") -> Container:
        started.append(_start(tmp_path / "control", shell, pids_limit))
        return started[-1]

    yield start
    for made in started:
        made.process.kill()
        made.process.wait(timeout=120)


@pytest.fixture
def container(start_shim: StartShim) -> Container:
    made = start_shim()
    made.control.open()
    made.control.greet()
    return made

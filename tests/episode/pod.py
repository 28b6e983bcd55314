"""A pod made of processes: the real runner, and two real shims in PID namespaces of their own."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

import pytest

from afresh.contract import codec
from afresh.contract.order import (
    Agent,
    Order,
    PlanLine,
    Repository,
    Task,
    Verify,
)
from afresh.contract.report import Report, Result, parse
from afresh.contract.shim import SHIM
from afresh.contract.words import AdapterName, Marker
from afresh.episode.stage import UNDECLARED

CONTROLLER = Path(__file__).resolve().parents[2] / "controller"
# Longer than anything takes here, also where others keep the machine busy.
LIMIT_SECONDS = 300
# Makes namespaces. Whoever is not root here is root in a user namespace.
UNSHARE = ("unshare", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")))
# Runs a command as the first process of a PID namespace, which dies with it.
NAMESPACE = (*UNSHARE, "--pid", "--fork", "--kill-child", "--mount-proc")


def require_namespaces() -> None:
    """Skip the test where this user can make no namespace; with CI=true it fails."""
    if shutil.which("unshare") is None:
        why = "unshare is not installed"
    else:
        tried = subprocess.run([*NAMESPACE, "true"], capture_output=True, text=True, check=False)
        why = tried.stderr.strip() if tried.returncode else ""
    if why and os.environ.get("CI") != "true":
        pytest.skip(f"needs PID namespaces ({why}): allow user namespaces, or run as root")
    assert not why, why


def wait_until(found: Callable[[], bool]) -> None:
    """Wait until something is seen."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while not found():
        assert time.monotonic() < deadline, "never seen"
        time.sleep(0.01)


def make_task(**changes: object) -> Task:
    """A task that asks for one file and accepts anything."""
    task = Task(
        id="T001",
        title="Greeting",
        prompt="Write hello.txt.",
        verify=Verify(command=("true",)),
    )
    return replace(task, **changes)


def make_agent(script: str, **changes: object) -> Agent:
    """An agent that is a shell script."""
    agent = Agent(adapter=AdapterName.COMMAND, command=("sh", "-c", script), timeout_seconds=120)
    return replace(agent, **changes)


def make_order(url: str, script: str, **changes: object) -> Order:
    """An order whose agent is a shell script."""
    order = Order(
        episode="demo-t001-1",
        package="team-a/demo",
        goal="Greet people.",
        repository=Repository(
            url=url, base_ref="main", branch="afresh/demo", secret_name="git-credentials"
        ),
        agent=make_agent(script),
        tasks=(make_task(),),
        plan=(
            PlanLine(id="T001", title="Greeting", marker=Marker.PENDING),
            PlanLine(id="T002", title="Farewell", marker=Marker.PENDING),
        ),
    )
    return replace(order, **changes)


def batch_of(order: Order, *prompts: str) -> Order:
    """The same order with one subtask for each prompt."""
    ids = [f"T00{number}" for number in range(1, len(prompts) + 1)]
    tasks = (make_task(id=ident, prompt=text) for ident, text in zip(ids, prompts, strict=True))
    plan = (PlanLine(id=ident, title=ident, marker=Marker.PENDING) for ident in ids)
    return replace(order, tasks=tuple(tasks), plan=tuple(plan))


@dataclass
class Pod:
    """One episode's pod below `root`. Everything it started has ended after `run`."""

    root: Path
    program: str = "afresh.episode"
    shell: tuple[str, ...] = ("dash",)
    pids_limit: str = "2000"
    environment: dict[str, str] = field(default_factory=dict)
    image_environment: dict[str, str] = field(default_factory=dict)
    is_verify_late: bool = False
    """Whether verify's container waits for its image until `Started.bring_verify`."""
    exit_code: int | None = None
    shim_codes: list[int] = field(default_factory=list)

    def put(self, path: str, content: str) -> Path:
        """Write a file of the pod."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        return file

    def give_credentials(self, username: str, password: str) -> None:
        """Mount the git Secret."""
        self.put("/afresh/secrets/git/username", username)
        self.put("/afresh/secrets/git/password", password)

    @property
    def written(self) -> str:
        """The termination message as it stands now."""
        file = self.root / "dev/termination-log"
        return file.read_text() if file.exists() else ""

    @property
    def report(self) -> Report:
        """The termination message, read."""
        return parse(self.written)

    @property
    def result(self) -> Result:
        """The only result."""
        (result,) = self.report.results
        return result

    def start(self, order: Order | str) -> "Started":
        """Start the three containers; a text is taken for the annotation as it is."""
        text = order if isinstance(order, str) else codec.dumps(order)
        self.put("/afresh/podinfo/order", text)
        for folder in ("dev", "tmp", "home/verify", "home/agent", "workspace", "afresh/checkout"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        names = ["agent"] if self.is_verify_late else ["agent", "verify"]
        return Started(self, self._runner(), [self.start_shim(name) for name in names])

    def run(
        self, order: Order | str, meanwhile: Callable[["Started"], None] | None = None
    ) -> Report:
        """Run an episode to its end and return its Report."""
        started = self.start(order)
        # Waiting without a time limit is quicker: with one, Python looks at intervals.
        overdue = threading.Event()
        watchdog = threading.Timer(LIMIT_SECONDS, lambda: (overdue.set(), started.kill()))
        watchdog.start()
        try:
            if meanwhile:
                meanwhile(started)
            self.exit_code = started.runner.wait()
            self.shim_codes = [shim.wait() for shim in started.shims]
        finally:
            watchdog.cancel()
            started.kill()
        assert not overdue.is_set(), self.log
        assert self.leftovers() == []
        assert UNDECLARED not in self.log, self.log
        return self.report

    def run_alone(self, order: Order | str) -> Report:
        """Run the runner without the other containers."""
        text = order if isinstance(order, str) else codec.dumps(order)
        self.put("/afresh/podinfo/order", text)
        (self.root / "dev").mkdir()
        started = Started(self, self._runner(), [])
        try:
            self.exit_code = started.runner.wait(LIMIT_SECONDS)
        finally:
            started.kill()
        assert UNDECLARED not in self.log, self.log
        return self.report

    def leftovers(self) -> list[str]:
        """Return the processes that were started below `root` and still live."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes()
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue  # ended meanwhile
            if str(self.root).encode() in environment:
                found.append(command)
        return found

    @property
    def log(self) -> str:
        """What the runner's container has printed."""
        return (self.root / "log").read_text()

    def _runner(self) -> subprocess.Popen[bytes]:
        # A file: nobody reads a pipe while the test waits for something else.
        with (self.root / "log").open("wb") as log:
            return self._runner_process(log)

    def _runner_process(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", self.program, "--root", str(self.root)],
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(CONTROLLER),
                "HOME": str(self.root),
                **self.environment,
            },
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )

    def start_shim(self, name: str) -> subprocess.Popen[bytes]:
        control = self.root / "afresh/control" / name
        control.mkdir(parents=True, exist_ok=True)
        return subprocess.Popen(
            [*NAMESPACE, *self.shell, "-c", SHIM],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.root / "home" / name),
                "TMPDIR": str(self.root / "tmp"),
                "AFRESH_CONTROL": str(control),
                "AFRESH_PIDS_LIMIT": self.pids_limit,
                "KUBERNETES_PORT": "tcp://10.0.0.1:443",
                **self.image_environment,
            },
            stdin=subprocess.DEVNULL,
        )


@dataclass
class Started:
    """The containers of a pod while they run."""

    pod: Pod
    runner: subprocess.Popen[bytes]
    shims: list[subprocess.Popen[bytes]]

    def wait_for(self, found: Callable[[], bool]) -> None:
        """Wait until something is seen, or the runner has ended."""
        wait_until(lambda: found() or self.runner.poll() is not None)

    def bring_verify(self) -> None:
        """Start verify's container, which has waited for its image."""
        self.shims.append(self.pod.start_shim("verify"))

    def first_process(self, shim: int) -> int:
        """The number of a shim itself, seen from here."""
        parent = self.shims[shim].pid
        children = Path(f"/proc/{parent}/task/{parent}/children")
        self.wait_for(lambda: bool(children.read_text().split()))
        return int(children.read_text().split()[0])

    def terminate(self) -> None:
        """Send TERM to the runner, as the kubelet does."""
        self.runner.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill what is left."""
        for process in (self.runner, *self.shims):
            process.kill()
            process.wait()

"""Episodes as processes of this machine: starts them, ends them, and keeps the evidence of each.

Owns the folder of an episode. What a Job and its pod tell in a cluster, the core reads from it.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from afresh import clock
from afresh.contract import codec, report
from afresh.contract import pod_layout as at
from afresh.contract.order import Budget, Order
from afresh.contract.pod_layout import AGENT, RUNNER, VERIFY
from afresh.contract.report import Report
from afresh.contract.shim import SHIM
from afresh.contract.words import ContextMode
from afresh.core.decision import StartEpisode, StartSync
from afresh.core.observed import (
    RUN_ENDED,
    ContainerFacts,
    ContainerState,
    Episode,
    Member,
    PodFacts,
)
from afresh.local.clone import Clone
from afresh.local.files import read_json, write_json
from afresh.local.keys import RunKeys
from afresh.local.processes import Identity, boot_id, dying_with, end_all_below
from afresh.local.sandbox.bubblewrap import Container, command_of
from afresh.removal import remove_tree

SECONDS_TO_REPORT = 5.0
# The first process of a sandbox waits for a word from the run: a run that ends before the sandbox
# is tied to its life would leave it behind.
HELD = 'echo; read -r word || exit 1; exec /bin/sh -c "$0" </dev/null >/dev/null'


@dataclass
class EpisodeProcesses:
    """The processes of one episode that this process has started."""

    processes: dict[str, "subprocess.Popen[bytes]"]


@dataclass
class Episodes:
    """The episodes of one package. Those that this process did not start, it only reads."""

    folder: Path
    clone: Clone
    keys: RunKeys
    environment: Mapping[str, str] = field(default_factory=dict)
    live: dict[str, EpisodeProcesses] = field(default_factory=dict)
    boot: str = field(default_factory=boot_id)
    _cut_short: set[str] = field(default_factory=set)

    def start(self, action: StartEpisode | StartSync, pids_limit: int) -> None:
        """Write down the episode, then start its processes."""
        order = replace(
            action.order,
            report_url=None,
            repository=replace(action.order.repository, url=self.clone.url, secret_name=None),
        )
        root = self.folder / order.episode
        _remove(root)  # a run may have ended before it was written down
        _lay_out(root, order)
        self.keys.lay_out(root / "pod", order)
        write_json(root / "episode.json", _facts(action))
        environment = {**self.environment, "AFRESH_PIDS_LIMIT": str(pids_limit)}
        self.live[order.episode] = EpisodeProcesses(_start(root, order, environment, self.boot))

    def observe(self) -> tuple[Episode, ...]:
        """Return all episodes whose folders are there, those that have ended too."""
        self._collect()
        found = sorted(self.folder.glob("*/episode.json"))
        return tuple(self._read(path.parent) for path in found)

    def stop(self, name: str) -> None:
        """Have the runner report and end, and with it all others."""
        live = self.live.get(name)
        runner = live.processes.get(RUNNER) if live else None
        if runner and runner.poll() is None:
            runner.send_signal(signal.SIGTERM)

    def cut_short(self, *, at_once: bool) -> None:
        """Have every runner report and end, or end `at_once`, because the run ends."""
        for name, live in self.live.items():
            self._cut_short.add(name)
            if at_once:
                live.processes[RUNNER].kill()
            else:
                self.stop(name)

    @property
    def are_live(self) -> bool:
        """Whether an episode that this process has started is not forgotten yet."""
        return bool(self.live)

    @property
    def have_ended(self) -> bool:
        """Whether a runner has ended since."""
        return any(live.processes[RUNNER].poll() is not None for live in self.live.values())

    def forget(self, name: str) -> None:
        """End what is left of an episode whose end is recorded, and keep its log alone."""
        live = self.live.pop(name, None)
        for process in live.processes.values() if live else ():
            process.kill()
            process.wait()
        root = self.folder / name
        end_all_below(root)
        _remove(root / "pod")
        (root / "episode.json").rename(root / "ended.json")

    def take_over(self) -> None:
        """End what former runs have left running, and remove what they have left behind.

        A runner whose run has ended reports and ends by itself; it has a few seconds for that.
        """
        for root in self.folder.glob("[!.]*"):
            if (root / "ended.json").exists():
                _remove(root / "pod")
            elif not (root / "episode.json").exists():
                _remove(root)
            else:
                runner = read_json(root / "runner.json")
                if runner and self._lives(runner):
                    Identity(**runner).wait(SECONDS_TO_REPORT)
                end_all_below(root)

    def descriptors(self) -> list[int]:
        """Return what becomes readable when a runner ends."""
        return [
            os.pidfd_open(live.processes[RUNNER].pid)
            for live in self.live.values()
            if live.processes[RUNNER].returncode is None
        ]

    def _collect(self) -> None:
        """Write down which processes have ended; without the runner the others end too."""
        for name, live in self.live.items():
            root = self.folder / name
            runner = live.processes[RUNNER]
            for container, process in live.processes.items():
                ended = root / "ends" / f"{container}.json"
                if process.poll() is None and container != RUNNER and runner.poll() is not None:
                    process.kill()
                    process.wait()
                if process.poll() is not None and not ended.exists():
                    write_json(ended, {"code": process.returncode, "at": clock.now().isoformat()})

    def _read(self, root: Path) -> Episode:
        facts = read_json(root / "episode.json")
        ends = {name: read_json(root / "ends" / f"{name}.json") for name in (RUNNER, AGENT, VERIFY)}
        is_ours = root.name in self.live
        runner = read_json(root / "runner.json")
        is_lost = not is_ours and ends[RUNNER] is None and not self._lives(runner)
        has_started = is_ours or runner is not None
        code = ends[RUNNER]["code"] if ends[RUNNER] else None
        created = datetime.fromisoformat(facts["created"])
        names = (RUNNER, AGENT, VERIFY) if facts["members"] else (RUNNER,)
        return Episode(
            name=root.name,
            uid=facts["uid"],
            members=tuple(Member(**member) for member in facts["members"]),
            attempt=facts["attempt"],
            created=created,
            released=created,
            mode=ContextMode(facts["mode"]) if facts["mode"] else None,
            generations=facts["generations"],
            inputs=facts["inputs"],
            probe=facts["probe"],
            budget=codec.decode(Budget, facts["budget"]) if facts["budget"] else None,
            plan=facts["plan"],
            complete=code == 0,
            failure=None if code in (None, 0) and not is_lost else "BackoffLimitExceeded",
            pod=PodFacts(
                name=root.name,
                uid=facts["uid"],
                phase=_phase(code, is_lost=is_lost),
                disruption=RUN_ENDED if is_lost or root.name in self._cut_short else None,
                scheduled=created,
                sandboxed=created,
                containers=tuple(
                    _container(name, ends[name], created, is_lost=is_lost)
                    for name in names
                    if has_started
                ),
            ),
            report=_report(root),
        )

    def _lives(self, runner: dict[str, Any] | None) -> bool:
        return runner is not None and Identity(**runner).lives(self.boot)


def _phase(code: int | None, *, is_lost: bool) -> str:
    if code is None:
        return "Failed" if is_lost else "Running"
    return "Failed" if code else "Succeeded"


def _container(
    name: str, end: dict[str, Any] | None, began: datetime, *, is_lost: bool
) -> ContainerFacts:
    if end is None and not is_lost:
        return ContainerFacts(name=name, state=ContainerState.RUNNING, started=True, began=began)
    code = end["code"] if end else -signal.SIGKILL
    return ContainerFacts(
        name=name,
        state=ContainerState.TERMINATED,
        started=True,
        reason="Completed" if code == 0 else "Error",
        exit_code=code if code >= 0 else 128 - code,
        began=began,
        finished=datetime.fromisoformat(end["at"]) if end else None,
    )


def _report(root: Path) -> Report | None:
    try:
        text = (root / "pod/dev/termination-log").read_text()
    except FileNotFoundError:
        return None
    try:
        return report.parse(text)
    except codec.ContractError:
        return None


def _remove(folder: Path) -> None:
    """Remove a folder as far as that can be done; what is left is tried again by the next run."""
    with contextlib.suppress(OSError):
        remove_tree(folder)


def _facts(action: StartEpisode | StartSync) -> dict[str, Any]:
    order = action.order
    members = action.members if isinstance(action, StartEpisode) else ()
    return {
        "uid": order.episode,
        "created": clock.now().isoformat(),
        "members": [asdict(member) for member in members],
        "attempt": members[0].attempt if members else getattr(action, "attempt", 1),
        "mode": str(order.mode) if members else "",
        "generations": getattr(action, "generations", ""),
        "inputs": getattr(action, "inputs", ""),
        "probe": action.probe,
        "plan": getattr(action, "plan", ""),
        "budget": codec.encode(order.budget) if order.budget else None,
    }


def _lay_out(root: Path, order: Order) -> None:
    pod = root / "pod"
    for path in (at.WORKTREE, at.AGENT_HOME, at.CHECKOUT, at.AGENT_CONTROL, at.VERIFY_CONTROL):
        (pod / path.lstrip("/")).mkdir(parents=True)
    for name in ("dev", "tmp/agent", "tmp/verify", "tmp/runner", "home/verify"):
        (pod / name).mkdir(parents=True)
    (root / "ends").mkdir()
    order_file = pod / at.ORDER_FILE.lstrip("/")
    order_file.parent.mkdir()
    order_file.write_text(codec.dumps(order))


def _start(
    root: Path, order: Order, environment: Mapping[str, str], boot: str
) -> dict[str, "subprocess.Popen[bytes]"]:
    processes = {RUNNER: _runner(root)}
    write_json(root / "runner.json", Identity.of(processes[RUNNER].pid, boot).to_json())
    if order.tasks:
        processes[AGENT] = _shim(root, AGENT, at.WORKTREE, at.AGENT_HOME, environment)
        processes[VERIFY] = _shim(root, VERIFY, at.CHECKOUT, "/home/verify", environment)
        for name in (AGENT, VERIFY):
            _let_go(processes[name])
    return processes


def _runner(root: Path) -> "subprocess.Popen[bytes]":
    pod = root / "pod"
    with (root / "log").open("wb") as log:
        return subprocess.Popen(  # noqa: S603  # this very program
            [sys.executable, "-m", "afresh.episode", "--sandboxed", str(pod)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={
                "PATH": os.environ.get("PATH", os.defpath),
                "HOME": str(pod / "tmp/runner"),
                "TMPDIR": str(pod / "tmp/runner"),
                "PYTHONPATH": os.pathsep.join(item for item in sys.path if item),
            },
            preexec_fn=dying_with(os.getpid()),  # noqa: PLW1509  # this process has one thread
            start_new_session=True,
        )


def _shim(
    root: Path, name: str, tree: str, home: str, environment: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    pod = root / "pod"
    container = Container(
        tree=pod / tree.lstrip("/"),
        home=pod / home.lstrip("/"),
        control=pod / at.CONTROL.lstrip("/") / name,
        tmp=pod / "tmp" / name,
        environment={
            "PATH": os.environ.get("PATH", os.defpath),
            **environment,
            "HOME": at.AGENT_HOME,
        },
    )
    with (root / f"{name}.err").open("wb") as errors:
        return subprocess.Popen(  # noqa: S603  # our own sandbox
            command_of(container, ("/bin/sh", "-c", HELD, SHIM)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,  # a terminal's Ctrl-C is for the run alone
        )


def _let_go(held: "subprocess.Popen[bytes]") -> None:
    """Let the first process of a sandbox begin, once it says that it is there."""
    with contextlib.suppress(BrokenPipeError), contextlib.ExitStack() as opened:
        for pipe in filter(None, (held.stdout, held.stdin)):
            opened.enter_context(pipe)
        if held.stdout and held.stdin and held.stdout.read(1):
            held.stdin.write(b"\n")

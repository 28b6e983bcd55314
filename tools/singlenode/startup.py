"""Starts components and waits until they are ready, up to a deadline.

Must not know which components there are or what they are for.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.singlenode import processes, progress
from tools.singlenode.components import Component
from tools.singlenode.errors import ClusterError
from tools.singlenode.packages import SEARCH_PATH
from tools.singlenode.paths import ClusterPaths

_POLL_SECONDS = 0.05
_LINES_SHOWN = 15


@dataclass(slots=True, kw_only=True)
class Startup:
    """One cluster that is being started, and the deadline for its start (time.monotonic())."""

    paths: ClusterPaths
    deadline: float
    cgroup_procs: Path | None = None
    _started: list[str] = field(default_factory=list)

    def start(self, component: Component) -> int:
        """Start `component` and return its pid."""
        record = self.paths.record(component.name)
        processes.start(
            processes.ProcessLaunch(
                command=component.command,
                log=self.paths.log(component.name),
                record=record,
                environment=_environment(),
                cgroup_procs=self.cgroup_procs,
            )
        )
        self._started.append(component.name)
        found = processes.read_record(record)
        return found.pid if found else 0

    def wait(self, what: str, is_done: Callable[[], bool]) -> None:
        """Wait until `is_done`; raise ClusterError if a component ends or the deadline passes.

        Prints the end of the failed component's log before it raises.
        """
        while not is_done():
            for name in self._started:
                record = processes.read_record(self.paths.record(name))
                if record is None or not processes.is_alive(record):
                    self._show_log(name)
                    raise ClusterError(f"{name} ended unexpectedly: its last lines are above")
            if time.monotonic() > self.deadline:
                self._show_log(self._started[-1])
                raise ClusterError(
                    f"no {what} in time: the last lines of {self._started[-1]} are above"
                )
            time.sleep(_POLL_SECONDS)

    def _show_log(self, name: str) -> None:
        lines = self.paths.log(name).read_text(errors="replace").splitlines()
        progress.say(f"the last lines of {name}:\n" + "\n".join(lines[-_LINES_SHOWN:]))


def all_alive(paths: ClusterPaths) -> bool:
    """Return whether every component that was started still runs."""
    records = [processes.read_record(file) for file in paths.records.glob("*")]
    return bool(records) and all(record and processes.is_alive(record) for record in records)


def _environment() -> Mapping[str, str]:
    # Nothing else: no secrets, and no proxy settings since all traffic stays inside.
    return {"PATH": SEARCH_PATH, "HOME": os.environ.get("HOME", "/root")}

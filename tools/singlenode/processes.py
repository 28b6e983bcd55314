"""Starts long-running processes, recognizes them later, and ends them.

A process is identified by its pid, its start time and the boot id, so that a pid that the kernel
has reused is never signalled. Must not know what the processes are.
"""

import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.singlenode.errors import ClusterError

_POLL_SECONDS = 0.02
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

# The process records itself before it executes the program: it never runs unrecorded, even if the
# command that started it ends early.
_LAUNCH = """
set -e
umask 022
if [ -n "$2" ]; then echo $$ >"$2"; fi
read -r boot </proc/sys/kernel/random/boot_id
read -r stat </proc/$$/stat
printf '%s\\n%s\\n' "$boot" "$stat" >"$1"
shift 2
exec "$@"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLaunch:
    """How to start one process."""

    command: Sequence[str]
    log: Path
    record: Path
    environment: Mapping[str, str]
    cgroup_procs: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRecord:
    """The identity of a process, as recorded at its start."""

    boot_id: str
    pid: int
    start_time: int


def start(launch: ProcessLaunch) -> None:
    """Start the process in a session of its own; return when it is recorded."""
    launch.record.unlink(missing_ok=True)
    cgroup = str(launch.cgroup_procs or "")
    # Not subprocess, which expects to wait for its children: these outlive this command.
    pid = os.posix_spawn(
        "/bin/sh",
        ["sh", "-c", _LAUNCH, "sh", str(launch.record), cgroup, *launch.command],
        launch.environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, launch.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    while read_record(launch.record) is None:
        if os.waitpid(pid, os.WNOHANG) != (0, 0):
            raise ClusterError(f"cannot start {launch.command[0]}: see {launch.log}")
        time.sleep(_POLL_SECONDS)


def read_record(path: Path) -> ProcessRecord | None:
    """Return the record that the process wrote; None if there is none yet."""
    try:
        boot_id, stat = path.read_text().splitlines()
    except (FileNotFoundError, ValueError):
        return None
    return ProcessRecord(
        boot_id=boot_id, pid=int(stat.split(" ", 1)[0]), start_time=_start_time(stat)
    )


def is_alive(record: ProcessRecord) -> bool:
    """Return whether exactly this process still runs; a zombie does not count."""
    if record.boot_id != _BOOT_ID.read_text().strip():
        return False
    try:
        stat = Path(f"/proc/{record.pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return _start_time(stat) == record.start_time and _state(stat) not in "ZX"


def kill(record: ProcessRecord, *, wait_seconds: float) -> None:
    """Kill exactly this process; raise ClusterError if it still runs after the wait."""
    try:
        descriptor = os.pidfd_open(record.pid)
    except ProcessLookupError:
        return
    try:
        # The descriptor pins the process: it is checked and signalled without a race.
        if is_alive(record):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        os.close(descriptor)
    deadline = time.monotonic() + wait_seconds
    while is_alive(record):
        if time.monotonic() > deadline:
            raise ClusterError(f"process {record.pid} does not end: see /proc/{record.pid}/stack")
        time.sleep(_POLL_SECONDS)


def _start_time(stat: str) -> int:
    return int(_after_command(stat)[19])


def _state(stat: str) -> str:
    return _after_command(stat)[0]


def _after_command(stat: str) -> list[str]:
    # The command's name, in parentheses, may itself contain spaces and parentheses.
    return stat.rpartition(")")[2].split()

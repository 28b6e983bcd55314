"""The control groups of one cluster, through which its processes are found and ended.

Every process of a node is in one of them, including those that outlive their parent (container
shims), so an empty tree means that no process of the node runs. Must not know what the processes
are.
"""

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from tools.singlenode.errors import ClusterError

_MOUNT = Path("/sys/fs/cgroup")
_UNIFIED_CONTROLLERS = ("cpu", "cpuset", "io", "memory", "pids", "hugetlb")
_SYSTEM = "system"
_POLL_SECONDS = 0.02


def is_writable() -> bool:
    """Return whether groups can be made here."""
    hierarchies = _hierarchies()
    return bool(hierarchies) and all(os.access(entry, os.W_OK) for entry in hierarchies)


def create(name: str) -> Path:
    """Create the group in every hierarchy; return the file in which a component adds its pid."""
    if _is_unified():
        for controller in _UNIFIED_CONTROLLERS:
            # Not every kernel has every controller.
            with contextlib.suppress(OSError):
                (_MOUNT / "cgroup.subtree_control").write_text(f"+{controller}")
    for hierarchy in _hierarchies():
        group = hierarchy / name
        group.mkdir(exist_ok=True)
        # In version 1 a new cpuset is empty, and an empty one accepts no process.
        for setting in ("cpuset.cpus", "cpuset.mems"):
            if not _is_unified() and (hierarchy / setting).exists():
                (group / setting).write_text((hierarchy / setting).read_text())
        _weigh(group)
    system = (_MOUNT if _is_unified() else _MOUNT / "pids") / name / _SYSTEM
    system.mkdir(exist_ok=True)
    return system / "cgroup.procs"


def _weigh(group: Path) -> None:
    """Give the cluster a larger share of CPU time, so that a busy machine does not starve it.

    By default a group gets as much as one process.
    """
    for setting, weight in (("cpu.shares", "8192"), ("cpu.weight", "800")):
        if (group / setting).exists():
            (group / setting).write_text(weight)


def has_processes(name: str) -> bool:
    """Return whether any process runs in the group."""
    return bool(_members(name))


def kill_all(name: str, *, wait_seconds: float) -> None:
    """Kill every process of the group; raise ClusterError if one is left after the wait."""
    deadline = time.monotonic() + wait_seconds
    while members := _members(name):
        if time.monotonic() > deadline:
            raise ClusterError(f"processes {sorted(members)} of {name} do not end")
        _thaw(name)
        for pid in members:
            _kill_member(pid, name)
        time.sleep(_POLL_SECONDS)


def remove(name: str, *, wait_seconds: float) -> None:
    """Remove the empty group from every hierarchy, if it exists."""
    deadline = time.monotonic() + wait_seconds
    while left := [group for group in _groups_bottom_up(name) if not _is_removed(group)]:
        if time.monotonic() > deadline:
            raise ClusterError(f"control group {left[0]} cannot be removed: it is still in use")
        time.sleep(_POLL_SECONDS)


def _is_unified() -> bool:
    return (_MOUNT / "cgroup.controllers").exists()


def _hierarchies() -> list[Path]:
    if _is_unified():
        return [_MOUNT]
    candidates = [entry for entry in _MOUNT.glob("*") if not entry.is_symlink()]
    return [entry for entry in candidates if (entry / "cgroup.procs").exists()]


def _groups_bottom_up(name: str) -> Iterator[Path]:
    for hierarchy in _hierarchies():
        for directory, _, _ in os.walk(hierarchy / name, topdown=False):
            yield Path(directory)


def _members(name: str) -> set[int]:
    members: set[int] = set()
    for group in _groups_bottom_up(name):
        # A group may be removed while its tree is read.
        with contextlib.suppress(OSError):
            members.update(int(line) for line in (group / "cgroup.procs").read_text().split())
    return members


def _thaw(name: str) -> None:
    # A frozen process does not die. runc freezes a container while it changes its limits.
    for group in _groups_bottom_up(name):
        with contextlib.suppress(OSError):
            if (group / "freezer.state").exists():
                (group / "freezer.state").write_text("THAWED")
            if (group / "cgroup.freeze").exists():
                (group / "cgroup.freeze").write_text("0")


def _kill_member(pid: int, name: str) -> None:
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        # Checked again with the process pinned, so that a reused pid is not signalled.
        if re.search(rf":/{re.escape(name)}(/|$)", _own_groups(pid), re.MULTILINE):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        os.close(descriptor)


def _own_groups(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cgroup").read_text()
    except FileNotFoundError:
        return ""


def _is_removed(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True

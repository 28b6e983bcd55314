"""Removes the IPC objects that the containers of a pod share, such as message queues.

The containers of a pod have one IPC namespace and one user, so verify could read what an agent
leaves there. The runner is in that namespace too, and removes what it finds.
"""

import contextlib
import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

_REMOVE = 0  # IPC_RMID
_REMOVERS: dict[str, Callable[[Any, int], object]] = {
    "shm": lambda libc, identity: libc.shmctl(identity, _REMOVE, None),
    "msg": lambda libc, identity: libc.msgctl(identity, _REMOVE, None),
    "sem": lambda libc, identity: libc.semctl(identity, 0, _REMOVE),
}


def clear_ipc(queues: Path, system_v: Path) -> bool:
    """Remove POSIX message queues, and System V segments, queues and semaphores.

    `queues` is where the queues are mounted, `system_v` the kernel's folder of tables. No process
    may be working in the other containers. Returns whether nothing is left.
    """
    for queue in _entries(queues):
        with contextlib.suppress(OSError):
            queue.unlink()
    if any(_identities(system_v / kind) for kind in _REMOVERS):
        libc = ctypes.CDLL(None)
        for kind, remover in _REMOVERS.items():
            for identity in _identities(system_v / kind):
                remover(libc, identity)
    return not (_entries(queues) or any(_identities(system_v / kind) for kind in _REMOVERS))


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:  # the container runtime mounts none
        return []


def _identities(table: Path) -> list[int]:
    """Return the ids in one of the kernel's tables: the second column, below a heading."""
    try:
        lines = table.read_text().splitlines()[1:]
    except OSError:
        return []
    return [int(line.split()[1]) for line in lines]

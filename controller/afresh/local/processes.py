"""Processes that outlive nobody: recognized again after a restart, and ended with their parent."""

import ctypes
import signal
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> None:
    """Have the kernel send this process SIGTERM when the one that started it ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A process, told apart from later ones of the same number."""

    pid: int
    start: str
    boot: str

    @classmethod
    def of(cls, pid: int) -> "Identity":
        """Return the identity of a process that runs. Raises OSError if it does not."""
        return cls(pid=pid, start=_start(pid), boot=_boot())

    def lives(self) -> bool:
        """Whether this very process still runs."""
        if self.boot != _boot():
            return False
        try:
            return _start(self.pid) == self.start
        except OSError:
            return False

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)


def _start(pid: int) -> str:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    if fields[0] in "ZX":
        raise ProcessLookupError(pid)
    return fields[19]


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()

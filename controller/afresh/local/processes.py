"""Processes of this machine: recognized again after a restart, and ended with their parent."""

import contextlib
import ctypes
import os
import select
import signal
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """Return the name of the time since this machine was started."""
    return _BOOT_ID.read_text().strip()


def dying_with(parent: int) -> Callable[[], None]:
    """Return what a child does first, so that the kernel sends it SIGTERM when `parent` ends."""

    def prepare() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it has ended before the kernel was asked
            os._exit(1)

    return prepare


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A process, told apart from later ones of the same number."""

    pid: int
    start: str
    boot: str

    @classmethod
    def of(cls, pid: int, boot: str) -> "Identity":
        """Return the identity of a child of this process."""
        return cls(pid=pid, start=_start(pid)[1], boot=boot)

    def lives(self, boot: str) -> bool:
        """Whether this very process still runs. `boot` is the machine's present boot id."""
        if self.boot != boot:
            return False
        try:
            state, start = _start(self.pid)
        except OSError:
            return False
        return start == self.start and state not in "ZX"

    def wait(self, seconds: float) -> None:
        """Wait until the process, which lives, has ended, but not longer than that."""
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(self.pid)
            try:
                select.select([descriptor], (), (), seconds)
            finally:
                os.close(descriptor)

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)


def end_all_below(home: Path) -> None:
    """End every process of this user whose HOME is in the folder, at once.

    A process of an episode can outlive its runner, such as a push to a slow disk.
    """
    prefixes = tuple(b"HOME=" + os.fsencode(path) + b"/" for path in (home, home.resolve()))
    for pid in _at_home(prefixes):
        with contextlib.suppress(OSError):
            descriptor = os.pidfd_open(pid)
            try:
                if _is_at_home(pid, prefixes):  # the number may be another's by now
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            finally:
                os.close(descriptor)


def _at_home(prefixes: tuple[bytes, ...]) -> Iterator[int]:
    for name in os.listdir("/proc"):  # noqa: PTH208  # names are enough
        if name.isdigit() and int(name) != os.getpid() and _is_at_home(int(name), prefixes):
            yield int(name)


def _is_at_home(pid: int, prefixes: tuple[bytes, ...]) -> bool:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(item.startswith(prefixes) for item in variables)


def _start(pid: int) -> tuple[str, str]:
    """Return the state of a process, and when it started. Raises OSError."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return fields[0], fields[19]

"""The runner as a process: its start time, and its reaction to SIGTERM.

The reaction does not wait for the main thread, which may be blocked anywhere.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path


def hold_terminate() -> None:
    """Keep a SIGTERM that comes from now on for `on_terminate`: the first process would lose it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def on_terminate(react: Callable[[], None]) -> None:
    """Call `react` in a thread of its own, once, as soon as SIGTERM comes or if it has come."""
    heard, told = os.pipe()
    os.set_blocking(told, False)
    # The byte is written at the instant of the signal; the handler itself has nothing to do.
    signal.signal(signal.SIGTERM, lambda _number, _frame: None)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)

    def wait() -> None:
        os.read(heard, 1)
        react()

    threading.Thread(target=wait, name="terminate", daemon=True).start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def process_start() -> float:
    """Return when this process was started, in seconds since the epoch, to 10 ms."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    after_boot = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + after_boot

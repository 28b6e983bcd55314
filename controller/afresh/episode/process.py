"""The runner as a process: its start time and its handling of SIGTERM.

The handler does not wait for the main thread, which may be blocked anywhere.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path


def hold_terminate() -> None:
    """Block SIGTERM until `on_terminate` is called.

    Without a handler, the kernel discards the signal for the first process of a container.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def on_terminate(react: Callable[[], None]) -> None:
    """Call `react` once, in its own thread, when SIGTERM arrives or if it has arrived already."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    # Python writes the byte when the signal arrives; the handler itself has nothing to do.
    signal.signal(signal.SIGTERM, lambda _number, _frame: None)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)

    def wait() -> None:
        os.read(read_end, 1)
        react()

    threading.Thread(target=wait, name="terminate", daemon=True).start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def process_start() -> float:
    """Return when this process started, in seconds since the epoch, with 10 ms precision."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    after_boot = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + after_boot

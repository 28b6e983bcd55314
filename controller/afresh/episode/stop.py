"""What happens when the pod is told to end.

Owns the reaction to SIGTERM. It does not wait for the main thread, which may be anywhere.
"""

import os
import signal
import threading
from collections.abc import Callable


def on_terminate(react: Callable[[], None]) -> None:
    """Call `react` in a thread of its own, once, as soon as SIGTERM comes."""
    heard, told = os.pipe()
    os.set_blocking(told, False)
    # The byte is written at the instant of the signal; the handler itself has nothing to do.
    signal.signal(signal.SIGTERM, lambda _number, _frame: None)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)

    def wait() -> None:
        os.read(heard, 1)
        react()

    threading.Thread(target=wait, name="terminate", daemon=True).start()

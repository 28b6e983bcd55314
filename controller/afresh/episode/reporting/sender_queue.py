"""Sends Reports to the operator in their order, and never lets one delay the work.

Owns the order: of several that wait only the newest goes out, and after the final one, nothing. How
one is sent is in `sender`.
"""

import threading
from collections.abc import Callable

Send = Callable[[bytes], None]

# How long the final Report waits for one that is on its way.
PATIENCE_SECONDS = 3.0


class SenderQueue:
    """A queue of one place, and the thread that empties it. Safe to use from several threads."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._waiting: bytes | None = None
        self._is_sending = False
        self._is_finished = False
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()

    def offer(self, report: bytes) -> None:
        """Have `report` sent some time soon, unless a newer one comes first. Returns at once."""
        with self._changed:
            if self._is_finished:
                return
            self._waiting = report
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="hints", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def finish(self, report: bytes) -> None:
        """Send the final report, and nothing after it.

        If an earlier one does not come to an end in time, the final one is not sent: it could be
        overtaken.
        """
        with self._changed:
            self._is_finished = True
            self._changed.notify_all()
            is_free = self._changed.wait_for(lambda: not self._is_sending, PATIENCE_SECONDS)
        if is_free:
            self._send(report)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._is_sending = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting is not None or self._is_finished)
                if self._is_finished or self._waiting is None:
                    return
                report, self._waiting = self._waiting, None
                self._is_sending = True
            self._send(report)

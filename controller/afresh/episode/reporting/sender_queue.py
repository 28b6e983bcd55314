"""Sends Reports to the operator in order, without delaying the work.

Owns the order: of several waiting Reports only the newest is sent, and none after the final one.
`sender` sends a single Report.
"""

import threading
from collections.abc import Callable

Send = Callable[[bytes], None]

# How long the final Report waits for one that is being sent.
PATIENCE_SECONDS = 3.0


class SenderQueue:
    """A queue for one Report, and the thread that sends it. Safe to use from several threads."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._waiting: bytes | None = None
        self._is_sending = False
        self._is_finished = False
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()

    def offer(self, report: bytes) -> None:
        """Queue `report`, in place of an older one that still waits. Returns at once."""
        with self._changed:
            if self._is_finished:
                return
            self._waiting = report
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="hints", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def finish(self, report: bytes) -> None:
        """Send the final Report, and nothing after it.

        If an earlier Report is still being sent after PATIENCE_SECONDS, the final one is not sent:
        the earlier one could arrive after it.
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

"""Writes the Report: to the termination message after every stage, and to the operator at the end.

Owns the one promise that matters most: what stands in the file is whole JSON at any instant, and
never says more than what has been done.
"""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from afresh.contract.report import Report, Result, fit
from afresh.contract.words import Outcome

Post = Callable[[bytes], None]


class Reporter:
    """Collects what the episode has done, and writes it down. Safe to use from two threads."""

    def __init__(self, episode: str, subtasks: tuple[str, ...], path: Path, post: Post) -> None:
        self._report = Report(episode=episode, stage="start")
        self._subtasks = subtasks
        self._path = path
        self._post = post
        self._written = 0
        self._closed = False
        self._lock = threading.Lock()

    def stage(self, name: str) -> None:
        """Say what the episode does now."""
        self._change(stage=name)

    def reached(self, phase: str, when: float | None = None) -> None:
        """Note the time, in seconds since the epoch, at which a phase was reached."""
        moment = round(time.time() if when is None else when, 3)
        self._change(phases=self._report.phases | {phase: moment})

    def update(self, **fields: object) -> None:
        """Set fields of the Report: usage, head, plan_digest, not_before, log_tail."""
        self._change(**fields)

    def add(self, result: Result) -> None:
        """Add how the episode ended for one subtask."""
        self._change(results=(*self._report.results, result))

    def close(self, outcome: Outcome, message: str) -> bool:
        """Write and send the final Report; subtasks without a result get this one.

        Returns False if it had been closed before: the first word stands.
        """
        with self._lock:
            if self._closed:
                return False
            self._closed = True
            known = {result.id for result in self._report.results}
            missing = tuple(
                Result(id=subtask, outcome=outcome, message=message)
                for subtask in self._subtasks
                if subtask not in known
            )
            self._report = replace(
                self._report,
                final=True,
                stage="done",
                results=(*self._report.results, *missing),
                phases=self._report.phases | {"reported": round(time.time(), 3)},
            )
            text = self._write()
        self._post(text)
        return True

    def _change(self, **fields: object) -> None:
        with self._lock:
            if self._closed:
                return
            self._report = replace(self._report, **fields)  # type: ignore[arg-type]  # by callers
            self._write()

    def _write(self) -> bytes:
        text = fit(self._report).encode()
        # One write, padded over what stood there before: a kill in between leaves no half JSON.
        padded = text.ljust(self._written)
        self._written = len(padded)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(descriptor, padded, 0)
        finally:
            os.close(descriptor)
        return text

"""Writes the Report: to the termination message after every stage, and to the operator as hints.

Owns the promise that the file is complete JSON at any instant, and never claims more than has been
done.
"""

import os
import threading
import time
from dataclasses import replace
from pathlib import Path

from afresh.contract.report import Report, Result, fit
from afresh.contract.words import Outcome
from afresh.episode.reporting.sender_queue import SenderQueue

# Phases of the episode and not of one subtask: the last push decides which plan is current.
LASTING = ("runnerStarted", "pushed")


class Reporter:
    """Collects what the episode has done and writes it. Safe to use from several threads."""

    def __init__(self, episode: str, path: Path, hints: SenderQueue | None) -> None:
        self._report = Report(episode=episode, stage="start")
        self._path = path
        self._hints = hints
        self._begun: Result | None = None
        self._written = 0
        self._closed = False
        self._is_stopped = False
        self._lock = threading.Lock()

    def begin(self, subtask: str, revision: int = 0) -> None:
        """Set the current subtask, which will have a result in the end, whatever happens.

        Drops the phases of the subtask before, except those in LASTING.
        """
        with self._lock:
            self._begun = Result(id=subtask, outcome=Outcome.INFRASTRUCTURE, revision=revision)
            before = self._report.phases
            lasting = {name: before[name] for name in LASTING if name in before}
            self._report = replace(self._report, phases=lasting)

    def ended_well(self) -> None:
        """Note that the work that was begun has succeeded and needs no result."""
        with self._lock:
            self._begun = None

    def stopped(self) -> None:
        """Note that the runner was asked to stop: later failures are consequences of that."""
        with self._lock:
            self._is_stopped = True

    @property
    def is_stopped(self) -> bool:
        """Whether the runner was asked to stop. The SIGTERM thread then ends the process."""
        return self._is_stopped

    def stage(self, name: str) -> None:
        """Set the stage that the Report shows."""
        if name != self._report.stage:
            self._change(stage=name)

    def reached(self, phase: str, when: float | None = None) -> None:
        """Note when a phase was reached, in seconds since the epoch; the default is now."""
        moment = round(time.time() if when is None else when, 3)
        self._change(phases=self._report.phases | {phase: moment})

    def update(self, **fields: object) -> None:
        """Set fields of the Report: usage, head, plan_digest, not_before, log_tail."""
        self._change(**fields)

    def add(self, result: Result) -> bool:
        """Add the result of one subtask; it replaces an earlier one with the same id.

        Returns False if the result is not added, so that no follow-up may run: after the runner was
        asked to stop, only results with a commit on the branch count.
        """
        with self._lock:
            if self._closed or (self._is_stopped and result.commit is None):
                return False
            others = (item for item in self._report.results if item.id != result.id)
            self._report = replace(self._report, results=(*others, result))
            self._write()
        return True

    def hint(self) -> None:
        """Queue the current Report to be sent to the operator. Returns at once."""
        with self._lock:
            if self._hints and not self._closed:
                self._hints.offer(fit(self._report).encode())

    def close(self, outcome: Outcome, message: str) -> bool:
        """Write and send the final Report. A current subtask without a result gets this one.

        Returns False, and changes nothing, if the Report was closed before.
        """
        with self._lock:
            if self._closed:
                return False
            self._closed = True
            self._report = replace(
                self._report,
                final=True,
                stage="done",
                results=(*self._report.results, *self._missing(outcome, message)),
                phases=self._report.phases | {"reported": round(time.time(), 3)},
            )
            text = self._write()
        if self._hints:
            self._hints.finish(text)
        return True

    def _missing(self, outcome: Outcome, message: str) -> tuple[Result, ...]:
        begun = self._begun
        if begun is None or any(result.id == begun.id for result in self._report.results):
            return ()
        return (replace(begun, outcome=outcome, message=message),)

    def _change(self, **fields: object) -> None:
        with self._lock:
            if self._closed:
                return
            self._report = replace(self._report, **fields)  # type: ignore[arg-type]  # by callers
            self._write()

    def _write(self) -> bytes:
        text = fit(self._report).encode()
        # One write, padded to cover the longer text before: a kill leaves no partial JSON.
        padded = text.ljust(self._written)
        self._written = len(padded)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(descriptor, padded, 0)
        finally:
            os.close(descriptor)
        return text

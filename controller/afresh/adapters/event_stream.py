"""What the readers of programs that print JSON events, one in each line, have in common.

This module does not know any program. Pure.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from afresh.adapters.adapter import Verdict
from afresh.adapters.endings import (
    CANNOT_RUN,
    NO_RESULT,
    UUID,
    Wording,
    failed,
    json_event,
    not_in_image,
)
from afresh.contract.words import Outcome


class EventReader(ABC):
    """Reads the events of one run. A subclass knows a program, its events and its exit codes.

    `program` is the name of the command. `refusals` are the exit codes of a program that refuses to
    run. `session_form` is the form of its session ids.
    """

    program: ClassVar[str]
    wording: ClassVar[Wording]
    refusals: ClassVar[tuple[int, ...]] = ()
    session_form: ClassVar[re.Pattern[str]] = UUID

    def __init__(self, *, behind_gateway: bool) -> None:
        self._behind_gateway = behind_gateway
        self._events = 0
        self._last_error = ""
        self.session: str | None = None

    @property
    def asked(self) -> int:
        """0: the program itself enforces the limit of turns. See `adapter.Reader`."""
        return 0

    def event(self, line: str) -> str | None:
        """Read an event. A line that is not JSON only goes to the log."""
        try:
            event: Mapping[str, Any] | None = json_event(line)
            if event is None:
                event = self._take_truncated(line)
            if event is None:
                return line or None
            self._events += 1
            return self._take(event)
        except RecursionError:
            return "an event that is nested too deeply"

    def error(self, line: str) -> str | None:
        """Read a line of standard error and remember the last one that is not empty."""
        self._last_error = line.strip() or self._last_error
        return line or None

    def verdict(self, exit_code: int) -> Verdict:
        """Return the result of the run."""
        if exit_code in CANNOT_RUN and not self._events:
            return not_in_image(self.program)
        return self._judge(exit_code)

    @abstractmethod
    def _take(self, event: Mapping[str, Any]) -> str | None:
        """Remember what the verdict depends on, and return the event's lines for the log."""

    @abstractmethod
    def _judge(self, exit_code: int) -> Verdict:
        """Return the result of a run in which the program could be started."""

    def _take_truncated(self, line: str) -> Mapping[str, Any] | None:  # noqa: ARG002
        """Read a line that is not JSON; return the event that it begins with, if that is known."""
        return None

    def _note_session(self, value: object) -> None:
        if isinstance(value, str) and self.session_form.fullmatch(value):
            self.session = value

    def _without_result(self, exit_code: int) -> Verdict:
        """Return the result of a run of which no event reports the end."""
        if exit_code == 0:
            return NO_RESULT
        if exit_code in self.refusals:
            return failed(Outcome.CONFIG, self._last_message(exit_code))
        return self._failure("", exit_code)

    def _failure(self, text: str, exit_code: int) -> Verdict:
        """Return the verdict for the error message `text`; if it is empty, for the last one."""
        text = text or self._last_message(exit_code)
        return self.wording.verdict(text, behind_gateway=self._behind_gateway)

    def _last_message(self, exit_code: int) -> str:
        return self._last_error or f"exit code {exit_code}"

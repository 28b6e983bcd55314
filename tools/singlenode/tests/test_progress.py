"""What the cluster tool says while it works, as whoever waits for it reads it."""

import io
import queue
from contextlib import redirect_stderr

import pytest

from tools.singlenode import progress

_PATIENCE_SECONDS = 120


class _Terminal(io.StringIO):
    """A standard error whose lines can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: queue.Queue[str] = queue.Queue()

    def write(self, text: str) -> int:
        """Take what is one line, as `progress.say` writes it."""
        self._lines.put(text)
        return len(text)

    def next_line(self) -> str:
        """Return the next line; fail if there is none for a long time."""
        return self._lines.get(timeout=_PATIENCE_SECONDS)

    def lines_left(self) -> list[str]:
        """Return what nobody has read."""
        return list(self._lines.queue)


def test_a_step_that_takes_long_says_in_between_that_it_goes_on() -> None:
    terminal = _Terminal()
    with (
        redirect_stderr(terminal),
        progress.long_step("building etcd", every_seconds=0.01),
    ):
        want_begin = terminal.next_line()
        want_reminders = [terminal.next_line(), terminal.next_line()]
    assert "building etcd ..." in want_begin
    assert all("building etcd: still running after" in line for line in want_reminders)
    assert "building etcd: done in" in terminal.lines_left()[-1]


def _run_out_of_disk(terminal: _Terminal) -> None:
    with progress.long_step("building etcd", every_seconds=0.01):
        terminal.next_line()
        raise ValueError("no disk")


def test_a_step_that_fails_is_not_done() -> None:
    terminal = _Terminal()
    with redirect_stderr(terminal), pytest.raises(ValueError, match="no disk"):
        _run_out_of_disk(terminal)
    assert not [line for line in terminal.lines_left() if "done" in line]


def test_a_step_of_less_than_a_minute_has_two_lines() -> None:
    terminal = _Terminal()
    with redirect_stderr(terminal), progress.long_step("building etcd"):
        pass
    assert len(terminal.lines_left()) == 2

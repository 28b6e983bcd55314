"""The episode's log for people: one redacted line per event on standard output.

Owns the limits on what is printed and on what the Report keeps. Decides nothing.
"""

import sys
from collections import deque

from afresh.contract.text import ELLIPSIS, without_escapes
from afresh.episode.reporting.redact import Redactor

LINE_LENGTH = 2000
TOTAL_LENGTH = 8 << 20
TAIL_LENGTH = 2048


class Log:
    """Prints redacted lines; output of agents and commands is cut off at a total length.

    Keeps the end of the agent's output for the Report.
    """

    def __init__(self, redact: Redactor) -> None:
        self.redact = redact
        self._passed = 0
        self._tail = Tail()

    def say(self, text: str) -> None:
        """Print a line about what the runner itself does."""
        _print(clipped("afresh: " + self._cleaned(text)))

    def ended(self, end: BaseException) -> None:
        """Print the message of an error and that of its cause, if it has one."""
        self.say(str(end))
        if end.__cause__:
            self.say(str(end.__cause__))

    def failure(self, error: BaseException) -> None:
        """Print the traceback of an unexpected error."""
        import traceback  # noqa: PLC0415  # seldom needed, and slow to import

        for line in "".join(traceback.format_exception(error)).splitlines():
            self.say(line)

    def agent(self, line: str) -> None:
        """Print an event of the agent, and keep it for the Report."""
        self._tail.add(line)
        self._pass_on(line)

    def step(self, name: str, line: str) -> None:
        """Print a line of a command's output."""
        self._pass_on(f"{name}: {line}")

    @property
    def tail(self) -> str:
        """The end of the agent's output, redacted, at most 2 KiB."""
        return self._tail.text(self.redact)

    def _cleaned(self, text: str) -> str:
        return self.redact(without_escapes(text))

    def _pass_on(self, text: str) -> None:
        if self._passed > TOTAL_LENGTH:
            return
        line = clipped(self._cleaned(text))
        self._passed += len(line) + 1
        if self._passed > TOTAL_LENGTH:
            line = "afresh: the output is longer than its limit; the rest is left out"
        _print(line)


class Tail:
    """The last lines of a text, at most `limit` characters, without escape sequences."""

    def __init__(self, limit: int = TAIL_LENGTH) -> None:
        self._limit = limit
        self._lines: deque[str] = deque()
        self._length = 0

    def add(self, line: str) -> None:
        """Append a line; drop the oldest ones while the limit is exceeded."""
        kept = without_escapes(line)[: self._limit - 1]
        self._lines.append(kept)
        self._length += len(kept) + 1
        while self._length > self._limit:
            self._length -= len(self._lines.popleft()) + 1

    def text(self, redact: Redactor) -> str:
        """Return the lines, redacted and printable."""
        lines = redact("\n".join(self._lines)).splitlines()
        return "\n".join(clipped(line) for line in lines)[-self._limit :]


def clipped(text: str, limit: int = LINE_LENGTH) -> str:
    """Return `text` as one printable line of at most `limit` characters."""
    line = text[: limit + 1]
    if not line.isprintable():
        line = "".join(ch if ch.isprintable() else " " for ch in line)
    return line if len(line) <= limit else line[: limit - 1] + ELLIPSIS


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()

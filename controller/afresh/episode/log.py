"""The episode's log for people: one redacted line per event on standard output.

Owns the bounds on what is printed and on what the Report keeps. Decides nothing.
"""

import sys
from collections import deque

from afresh.episode.redact import Redactor

LINE_LENGTH = 2000
TOTAL_LENGTH = 8 << 20
TAIL_LENGTH = 2048


class Log:
    """Prints redacted lines until a total is reached, and keeps the end of what was said."""

    def __init__(self, redact: Redactor) -> None:
        self.redact = redact
        self._printed = 0
        self._tail = Tail()

    def say(self, text: str) -> None:
        """Print what the runner itself does."""
        self._print(f"afresh: {text}")

    def trouble(self, text: str) -> None:
        """Print a text of many lines, such as a traceback."""
        for line in text.splitlines():
            self.say(line)

    def agent(self, text: str) -> None:
        """Print an event of the agent, and keep it for the Report."""
        for line in self.redact(text).splitlines():
            self._tail.add(line)
            self._print(line)

    def step(self, name: str, text: str) -> None:
        """Print a line of a command's output."""
        self._print(f"{name}: {text}")

    @property
    def tail(self) -> str:
        """The end of the agent's log, at most 2 KiB."""
        return str(self._tail)

    def _print(self, text: str) -> None:
        if self._printed > TOTAL_LENGTH:
            return
        line = one_line(self.redact(text))
        self._printed += len(line)
        if self._printed > TOTAL_LENGTH:
            line = "afresh: the log is longer than its limit; the rest is left out"
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


class Tail:
    """The last lines of a text, at most `limit` characters."""

    def __init__(self, limit: int = TAIL_LENGTH) -> None:
        self._limit = limit
        self._lines: deque[str] = deque()
        self._length = 0

    def add(self, line: str) -> None:
        """Append a line; older ones make room."""
        kept = one_line(line, self._limit - 1)
        self._lines.append(kept)
        self._length += len(kept) + 1
        while self._length > self._limit:
            self._length -= len(self._lines.popleft()) + 1

    def __str__(self) -> str:
        return "\n".join(self._lines)


def one_line(text: str, limit: int = LINE_LENGTH) -> str:
    """Return `text` as one printable line of at most `limit` characters."""
    line = "".join(ch if ch.isprintable() else " " for ch in text[: limit + 1])
    return line if len(line) <= limit else line[: limit - 1] + "…"

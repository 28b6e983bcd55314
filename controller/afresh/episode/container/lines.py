"""Splits a stream of bytes into lines, in bounded memory.

Knows nothing about the content of the lines.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

LINE_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class OutputLine:
    """One line without its line end. `cut` is how many bytes were dropped from its end."""

    text: str
    cut: int = 0


class LineReader:
    """Collects bytes and yields lines. Of a line beyond the limit, only the beginning is kept."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._cut = 0

    def feed(self, data: bytes) -> Iterator[OutputLine]:
        """Yield the lines that `data` completes."""
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._keep(piece)
            yield self._take()
        self._keep(rest)

    @property
    def kept(self) -> int:
        """How many bytes of the unfinished line are kept."""
        return len(self._kept)

    def drop(self) -> None:
        """Drop the bytes of the unfinished line that are kept."""
        self._cut += len(self._kept)
        self._kept.clear()

    def end(self) -> Iterator[OutputLine]:
        """Yield the last line if the stream ended without a line end."""
        if self._kept or self._cut:
            yield self._take()

    def _keep(self, piece: bytes) -> None:
        room = self._limit - len(self._kept)
        self._kept += piece[:room]
        self._cut += max(0, len(piece) - room)

    def _take(self) -> OutputLine:
        text = self._kept.decode(errors="replace").removesuffix("\r")
        line = OutputLine(text, self._cut)
        self._kept.clear()
        self._cut = 0
        return line


class LineSink:
    """Takes bytes as they arrive and passes on whole lines."""

    def __init__(self, take: Callable[[OutputLine], None], limit: int = LINE_LIMIT) -> None:
        self._reader = LineReader(limit)
        self._take_line = take

    def __call__(self, data: bytes) -> None:
        """Add `data` to the stream."""
        for line in self._reader.feed(data):
            self._take_line(line)

    def end(self) -> None:
        """Pass on an unfinished last line."""
        for line in self._reader.end():
            self._take_line(line)

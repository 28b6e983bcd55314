"""The terminal: whether there is one, its size and colours, and a picture that is drawn in place.

Knows nothing of what is shown: lines are spans of text, each with a style.
"""

import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Self, TextIO

PIPE_WIDTH = 120
_OTHER_SCREEN, _HOME, _CLEAR_LINE, _CLEAR_BELOW = (
    "\x1b[?1049h\x1b[?25l",
    "\x1b[H",
    "\x1b[K",
    "\x1b[J",
)
_FIRST_SCREEN = "\x1b[?25h\x1b[?1049l"
_RESET = "\x1b[0m"


class Style(Enum):
    """What a text means to a person; the value is its colour."""

    PLAIN = ""
    HEAD = "\x1b[1m"
    FAINT = "\x1b[2m"
    GOOD = "\x1b[32m"
    LIVE = "\x1b[36m"
    WARNING = "\x1b[33m"
    BAD = "\x1b[31m"


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of one line."""

    text: str
    style: Style = Style.PLAIN


Line = tuple[Span, ...]


def line(text: str, style: Style = Style.PLAIN) -> Line:
    """Return a line of one span."""
    return (Span(text, style),)


def width_of(text: str) -> int:
    """Return how many columns `text` takes; letters of East Asia take two, accents none."""
    return sum(_width_of_letter(letter) for letter in text)


def clipped(text: str, width: int) -> str:
    """Return `text`, or its beginning and an ellipsis, in at most `width` columns."""
    if width_of(text) <= width:
        return text
    kept, used = [], 1
    for letter in text:
        used += _width_of_letter(letter)
        if used > width:
            break
        kept.append(letter)
    return "".join(kept).rstrip() + "…" if width > 0 else ""


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Return `text` with spaces up to `width` columns; `right` puts them before it."""
    space = " " * (width - width_of(text))
    return space + text if right else text + space


def cut(spans: Iterable[Span], width: int) -> Line:
    """Return a line that takes at most `width` columns."""
    kept: list[Span] = []
    for span in spans:
        room = width - sum(width_of(item.text) for item in kept)
        if room <= 0:
            break
        kept.append(Span(clipped(span.text, room), span.style))
    return tuple(kept)


def written(spans: Line, *, colours: bool) -> str:
    """Return a line as it is written, without spaces at its end."""
    text = "".join(span.text for span in spans)
    if not colours:
        return text.rstrip()
    return "".join(_coloured(span) for span in spans)


@dataclass(frozen=True, slots=True)
class Paper:
    """Where lines are written: how wide it is, and whether it takes colours and movements."""

    stream: TextIO
    moves: bool
    colours: bool

    @classmethod
    def standard(cls) -> Self:
        """Return standard output as it is: a terminal, or something that only takes text."""
        moves = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        return cls(sys.stdout, moves, moves and not os.environ.get("NO_COLOR"))

    @property
    def size(self) -> tuple[int, int]:
        """The columns to write in, and the lines; what is no terminal has many of both."""
        if not self.moves:
            return PIPE_WIDTH, sys.maxsize
        found = shutil.get_terminal_size()
        # What follows a full line would take its last letter.
        return found.columns - 1, found.lines

    def write(self, lines: Iterable[Line]) -> None:
        """Write lines one below the other."""
        for spans in lines:
            self.stream.write(written(spans, colours=self.colours) + "\n")
        self.stream.flush()


class Screen:
    """A picture in place of all that the terminal shows, for as long as it is entered."""

    def __init__(self, paper: Paper) -> None:
        self._paper = paper

    def __enter__(self) -> Self:
        self._paper.stream.write(_OTHER_SCREEN)
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        self._paper.stream.write(_FIRST_SCREEN)
        self._paper.stream.flush()

    def draw(self, lines: Sequence[Line]) -> None:
        """Show the lines in place of what was shown; those beyond the screen's end are left out."""
        columns, rows = self._paper.size
        drawn = [
            written(cut(spans, columns), colours=self._paper.colours) + _CLEAR_LINE
            for spans in lines[:rows]
        ]
        self._paper.stream.write(_HOME + "\r\n".join(drawn) + _CLEAR_BELOW)
        self._paper.stream.flush()


def _coloured(span: Span) -> str:
    if span.style is Style.PLAIN or not span.text.strip():
        return span.text
    return f"{span.style.value}{span.text}{_RESET}"


def _width_of_letter(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "FW" else 1

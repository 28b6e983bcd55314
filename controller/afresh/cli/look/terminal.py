"""The terminal: what colours mean, lines that fit it, and what standard output can show.

Knows nothing of what is shown. Imports the drawing library, which takes a while: commands import
this when they run. Texts become `Text` as they are: none is read as markup.
"""

import os
import sys
from collections.abc import Iterable
from enum import StrEnum

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

PIPE_WIDTH = 120
# Longer than any line; what a terminal does with one that does not fit is its own affair.
NO_LIMIT = 100_000

Size = tuple[int, int | None]
"""Columns, and lines if there is a limit."""


class Style(StrEnum):
    """What a text means to a person; the value is how it looks."""

    PLAIN = ""
    HEAD = "bold"
    FAINT = "dim"
    GOOD = "green"
    LIVE = "cyan"
    WARNING = "yellow"
    BAD = "red"


def line(*parts: str | Text | tuple[str, str]) -> Text:
    """Return texts, each with its style, as one line; its end is left out where it does not fit."""
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def wrapped(text: str, width: int, style: str = Style.PLAIN, most: int | None = None) -> list[Text]:
    """Return a text as lines of at most `width` columns, and at most `most` of them."""
    lines = list(Text(text, style).wrap(Console(), width))
    for item in lines:
        item.rstrip()
    if most is not None and len(lines) > most:
        lines[most - 1].append(" …").truncate(width, overflow="ellipsis")
    return [line(item) for item in lines[:most]]


def write(console: Console, lines: Iterable[Text]) -> None:
    """Write lines one below the other."""
    console.print(Group(*lines))


def picture_in_place(console: Console) -> Live:
    """Return a picture that takes the place of all that a terminal shows while it is entered."""
    return Live(console=console, screen=True, auto_refresh=False)


def draw(picture: Live, lines: Iterable[Text]) -> None:
    """Show lines in place of what was shown; those beyond the terminal's end are left out."""
    picture.update(Group(*lines), refresh=True)


def standard_output(*, wide: bool = False) -> Console:
    """Return standard output as it is: a terminal, or something that only takes text.

    What is no terminal gets no colours and lines of a fixed width, whatever the variables of the
    environment say that other programs go by. With `wide`, no line is shortened.
    """
    terminal = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    colours = terminal and not os.environ.get("NO_COLOR")
    return Console(
        file=sys.stdout,
        force_terminal=terminal,
        color_system="standard" if colours else None,
        width=NO_LIMIT if wide else None if terminal else PIPE_WIDTH,
        markup=False,
        emoji=False,
        highlight=False,
    )

"""Widths, colours and what a terminal is."""

import io
import sys

import pytest
from rich.console import Console

from afresh.cli.look.columns import Column, rows_of
from afresh.cli.look.terminal import (
    Style,
    draw,
    line,
    picture_in_place,
    standard_output,
    wrapped,
    write,
)
from afresh.core.history.durations import short_duration

MARKUP = "[red]x[/red] [link=https://e.example]y[/] :warning: [/bold] \\[b] `z`"


@pytest.mark.parametrize(
    ("text", "width", "want"),
    [
        pytest.param("tokens", 6, "tokens", id="fits"),
        pytest.param("tokens", 5, "toke…", id="too long"),
        pytest.param("文書を書く", 5, "文書…", id="letters of two columns"),
        pytest.param("文書を書く", 6, "文書 …", id="half a letter"),
        pytest.param("e\u0301te\u0301", 3, "e\u0301te\u0301", id="accents of their own"),
        pytest.param(MARKUP, 100, MARKUP, id="what would be markup"),
    ],
)
def test_line_is_written_as_it_stands_and_cut_to_columns(text: str, width: int, want: str):
    console = Console(file=io.StringIO(), width=width)

    write(console, [line(text)])

    assert console.file.getvalue() == f"{want}\n"


def test_cells_stand_in_columns_whatever_their_letters_take():
    columns = [
        Column[tuple[str, str]]("NAME", lambda item: item[0]),
        Column[tuple[str, str]]("AGE", lambda item: item[1], right=True),
    ]

    rows = rows_of([("文書", "7s"), ("[b]", "1m02s")], columns, 80, (), head=True)

    assert [row.plain for row in rows] == ["NAME    AGE", "文書     7s", "[b]   1m02s"]


def test_long_text_is_wrapped_by_columns_and_its_end_left_out_with_a_sign():
    text = "文書を書く 文書を書く 文書を書く"

    assert [item.plain for item in wrapped(text, 12)] == ["文書を書く"] * 3
    assert [item.plain for item in wrapped(text, 12, most=2)] == ["文書を書く", "文書を書く …"]


@pytest.mark.parametrize(
    ("seconds", "want"),
    [(0, "0s"), (59, "59s"), (192, "3m12s"), (3600, "1h00m"), (7500, "2h05m"), (97_200, "1d03h")],
)
def test_duration_has_its_two_largest_units(seconds: int, want: str):
    assert short_duration(seconds) == want


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("term", "no_color", "want"),
    [
        pytest.param("xterm-256color", "", (True, "\x1b[32mdone\x1b[0m\n"), id="a terminal"),
        pytest.param("xterm-256color", "1", (True, "done\n"), id="NO_COLOR"),
        pytest.param("dumb", "", (False, "done\n"), id="a dumb one"),
    ],
)
def test_colours_are_for_terminals_whose_user_wants_them(
    term: str, no_color: str, want: tuple[bool, str], monkeypatch: pytest.MonkeyPatch
):
    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("NO_COLOR", no_color)

    console = standard_output()
    write(console, [line(("done", Style.GOOD))])

    assert (console.is_terminal, out.getvalue()) == want


def test_pipe_gets_plain_lines_of_a_fixed_width_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
):
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    for name, value in {
        "COLUMNS": "20", "FORCE_COLOR": "1", "TTY_COMPATIBLE": "1", "CLICOLOR_FORCE": "1",
        "TERM": "xterm-256color", "COLORTERM": "truecolor",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)

    console = standard_output()
    write(console, [line(("x" * 119, Style.GOOD)), line(("done", Style.GOOD))])

    assert out.getvalue() == f"{'x' * 119}\ndone\n"
    assert (console.width, console.is_terminal) == (120, False)


def test_picture_shows_what_fits_in_place_and_gives_the_terminal_back():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system=None, width=6, height=2)

    with picture_in_place(console) as picture:
        draw(picture, [line("token-auth"), line("b"), line("c")])
        first = out.getvalue()
        draw(picture, [line("d")])

    assert first.startswith("\x1b[?1049h")
    assert first.endswith("\x1b[Htoken…\nb     ")
    assert "\x1b[Hd     \n      " in out.getvalue()
    assert out.getvalue().endswith("\x1b[?25h\x1b[?1049l")

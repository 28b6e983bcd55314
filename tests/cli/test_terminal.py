"""Widths, colours and what a terminal is."""

import io
import sys

import pytest

from afresh.cli.look.terminal import Paper, Screen, Span, Style, clipped, line, padded, width_of
from afresh.core.history.durations import short_duration


@pytest.mark.parametrize(
    ("text", "width", "want"),
    [
        pytest.param("tokens", 6, "tokens", id="fits"),
        pytest.param("tokens", 5, "toke…", id="too long"),
        pytest.param("a  tokens", 4, "a…", id="no space before the ellipsis"),
        pytest.param("文書を書く", 6, "文書…", id="letters of two columns"),
        pytest.param("e\u0301te\u0301", 3, "e\u0301te\u0301", id="accents of their own"),
        pytest.param("tokens", 0, "", id="no room"),
    ],
)
def test_text_is_clipped_to_columns(text: str, width: int, want: str):
    assert clipped(text, width) == want
    assert width_of(clipped(text, width)) <= width


def test_text_is_padded_to_columns():
    assert padded("文書", 6) == "文書  "
    assert padded("7s", 4, right=True) == "  7s"


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
        pytest.param("xterm-256color", "", (True, True), id="a terminal"),
        pytest.param("xterm-256color", "1", (True, False), id="NO_COLOR"),
        pytest.param("dumb", "", (False, False), id="a dumb one"),
    ],
)
def test_colours_are_for_terminals_whose_user_wants_them(
    term: str, no_color: str, want: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("NO_COLOR", no_color)

    paper = Paper.standard()

    assert (paper.moves, paper.colours) == want


def test_pipe_gets_plain_lines_of_a_fixed_width_however_wide_the_window(
    monkeypatch: pytest.MonkeyPatch,
):
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("COLUMNS", "20")

    paper = Paper.standard()
    paper.write([(Span("done", Style.GOOD), Span("  "))])

    assert out.getvalue() == "done\n"
    assert paper.size == (120, sys.maxsize)


def test_screen_shows_what_fits_and_gives_the_terminal_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "6")
    monkeypatch.setenv("LINES", "2")
    out = io.StringIO()

    with Screen(Paper(out, moves=True, colours=False)) as screen:
        screen.draw([line("token-auth"), line("b"), line("c")])

    written = out.getvalue()
    assert "toke…\x1b[K\r\nb\x1b[K\x1b[J" in written
    assert "c\x1b" not in written
    assert written.startswith("\x1b[?1049h")
    assert written.endswith("\x1b[?25h\x1b[?1049l")

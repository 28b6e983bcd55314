"""Escape sequences are cut as a whole, whatever their kind and wherever they end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afresh.contract.text import one_line, without_escapes


@pytest.mark.parametrize(
    "sequence",
    [
        pytest.param("\x1b[31m", id="a colour"),
        pytest.param("\x1b[?1049h", id="another screen"),
        pytest.param("\x9b2J", id="a colour of 8 bits"),
        pytest.param("\x1b]52;c;cm0gLXJm\x07", id="the clipboard, ended by a bell"),
        pytest.param("\x1b]52;c;cm0gLXJm\x1b\\", id="the clipboard, ended by a terminator"),
        pytest.param("\x1b]52;c;cm0gLXJm\x9c", id="the clipboard, ended by 8 bits"),
        pytest.param("\x9d52;c;cm0gLXJm\x07", id="the clipboard of 8 bits"),
        pytest.param("\x1b]0;title\x18", id="a title that is cancelled"),
        pytest.param("\x1b]8;;https://x\x1b\\text\x1b]8;;\x1b\\"[:16], id="a link"),
        pytest.param("\x1bP1$r0m\x1b\\", id="a device control string"),
        pytest.param("\x90q#0;2\x9c", id="a picture of 8 bits"),
        pytest.param("\x1b_Gf=100;AAAA\x1b\\", id="an application's command"),
        pytest.param("\x9fGf=100\x9c", id="an application's command of 8 bits"),
        pytest.param("\x1b^secret\x1b\\", id="a privacy message"),
        pytest.param("\x1bXany\x1b\\", id="a string"),
        pytest.param("\x1bPtmux;\x1b\x1b]52;c;QQ==\x07\x1b\\", id="one within another"),
        pytest.param("\x1b(B", id="a character set"),
        pytest.param("\x1b7", id="the cursor is saved"),
        pytest.param("\x1bc", id="a reset"),
        pytest.param("\x8d", id="a lone control of 8 bits"),
        pytest.param("\x1b]52;c;\x1b[31m", id="one that another interrupts"),
    ],
)
def test_sequence_is_cut_with_what_it_carries(sequence: str) -> None:
    assert without_escapes(f"a{sequence}b") == "ab"
    assert one_line(f"a{sequence}b c") == "ab c"


@pytest.mark.parametrize("beginning", ["\x1b]52;c;cm0g", "\x1bPq#0", "\x1b[31", "\x1b(", "\x1b"])
def test_sequence_without_an_end_goes_to_the_end_of_its_line(beginning: str) -> None:
    assert without_escapes(f"a{beginning}\nnext") == "a\nnext"
    assert without_escapes(f"a{beginning}") == "a"


@given(st.text(alphabet="\x1b\x9b\x9d\x90\x9c\x07\x18[]P_^X\\;52cm0(\n a"))
def test_nothing_of_a_sequence_is_left(text: str) -> None:
    left = without_escapes(text)

    assert "\x1b" not in left
    assert not any("\x80" <= ch <= "\x9f" for ch in left)
    assert without_escapes(left) == left
    assert left.count("\n") == text.count("\n")

"""Texts of agents in a Markdown file: nothing of them is taken for the file's own."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afresh.contract.markdown import escaped_line, escaped_text, unescaped_line


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("The cache is per tenant.", "The cache is per tenant.", id="a sentence"),
        pytest.param("one\n\ntwo", "one\n\ntwo", id="paragraphs"),
        pytest.param("- one\n  - two\n1. three", "- one\n  - two\n1. three", id="lists"),
        pytest.param("uses a-b, 1.5 and x_y", "uses a-b, 1.5 and x_y", id="marks in a line"),
        pytest.param("# T009 Forged", "\\# T009 Forged", id="a heading"),
        pytest.param("  ## T009", "  \\## T009", id="a heading with blanks before it"),
        pytest.param("- # T009", "- \\# T009", id="a heading in a list"),
        pytest.param("T009\n====", "T009\n\\====", id="a heading by its underline"),
        pytest.param("T009\n---", "T009\n\\---", id="a heading by its dashes"),
        pytest.param("-", "\\-", id="an empty item, which underlines too"),
        pytest.param("> # T009", "\\> # T009", id="a quote"),
        pytest.param("- [x] T009 Done", "- \\[x] T009 Done", id="a marker of the plan"),
        pytest.param("* [x] T009", "* \\[x] T009", id="a marker with an asterisk"),
        pytest.param("1) [x] T009", "1) \\[x] T009", id="a marker with a number"),
        pytest.param("- - [x] T009", "- \\- [x] T009", id="a marker in a list in a list"),
        pytest.param("- 1. [x] T009", "- 1\\. [x] T009", id="a marker in a numbered list in one"),
        pytest.param("[x]: javascript:a", "\\[x]: javascript:a", id="a definition"),
        pytest.param("```\nrest", "\\```\nrest", id="a fence"),
        pytest.param("~~~", "\\~~~", id="another fence"),
        pytest.param("a | b\n|--|--|", "a | b\n\\|--|--|", id="a table"),
        pytest.param("<script>x</script>", "\\<script>x\\</script>", id="HTML"),
        pytest.param("<!-- gone", "\\<!-- gone", id="a comment that would not end"),
        pytest.param("\\<b>", "\\\\\\<b>", id="HTML behind a backslash"),
        pytest.param("see ![x](https://a)", "see !\\[x](https://a)", id="an image"),
        pytest.param("a\u2028# b\x0b# c", "a\n\\# b\n\\# c", id="ends of lines of all kinds"),
        pytest.param("\t# x", "    \\# x", id="a tab"),
    ],
)
def test_notes_are_text_and_lists(text: str, want: str) -> None:
    assert escaped_text(text) == want


@given(st.text(alphabet="#->*+=~`|:[]x!<\\1. \t\na", max_size=30))
def test_no_text_begins_a_block_or_html(text: str) -> None:
    for line in escaped_text(text).split("\n"):
        rest = re.sub(r"^\s*(?:(?:[-*+]|\d+[.)])\s+(?=\S))?", "", line, count=1)
        assert not re.match(r"\s*(?:[#=>*+~`|:\[_-]|\d+[.)])", rest), line
        assert not re.search(r"(?<!\\)(?:\\\\)*<", line)
        assert "![" not in line


@given(st.text())
def test_a_line_is_read_back(text: str) -> None:
    line = " ".join("".join(ch if ch.isprintable() else " " for ch in text).split())

    assert unescaped_line(escaped_line(line)) == line


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("<!-- hidden", "\\<!-- hidden"),
        ("\\<script>", "\\\\\\<script>"),
        ("Plan\n# T009 Forged", "Plan # T009 Forged"),
    ],
)
def test_a_line_begins_no_html_and_ends_where_it_is(text: str, want: str) -> None:
    assert escaped_line(text) == want

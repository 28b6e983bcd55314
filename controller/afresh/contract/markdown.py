"""Escapes text for Markdown, so that it cannot forge headings, markers, images or HTML. Pure.

Lists stay lists, so that notes are readable; everything else that could begin a block is escaped.
"""

import re

from afresh.contract.text import one_line

# A list marker with text after it; that text is checked like the beginning of a line.
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])(\s+)(?=\S)")
# The beginnings of a heading, its underline, a quote, a list, a fence, a table, a definition, a
# box.
_BLOCK = re.compile(r"\s*(?:[#=>*+~`|:\[_-]|\d{1,9}(?=[.)]))")


def escaped_line(text: str) -> str:
    """Return `text` as one line of plain text that does not affect the lines after it."""
    # HTML is all that could.
    return one_line(text).replace("\\", "\\\\").replace("<", "\\<")


def escaped_text(text: str) -> str:
    """Return `text` with its lines, each escaped unless it is part of a paragraph or a list."""
    return "\n".join(_escaped(line) for line in text.splitlines())


def unescaped_line(text: str) -> str:
    """Reverse `escaped_line`; return one line."""
    return re.sub(r"\\([\\<])", r"\1", text)


def _escaped(line: str) -> str:
    plain = "".join(ch if ch.isprintable() else " " for ch in line.expandtabs(4)).rstrip()
    item = _ITEM.match(plain)
    start, rest = (item[0], plain[item.end() :]) if item else ("", plain)
    inline = rest.replace("\\", "\\\\").replace("<", "\\<").replace("![", "!\\[")
    return start + _BLOCK.sub(_shown, inline, count=1) if _BLOCK.match(inline) else start + inline


def _shown(match: re.Match[str]) -> str:
    """Escape a punctuation mark; after a number, escape the mark that would make it a list."""
    beginning = match[0]
    if beginning[-1].isdigit():
        return f"{beginning}\\"
    return f"{beginning[:-1]}\\{beginning[-1]}"

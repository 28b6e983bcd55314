"""Makes texts of agents and servers safe to print: no control character is left. Pure."""

import re

from afresh.contract.text import one_line, without_escapes

_MARKDOWN = re.compile(r"([\\`*\[<|])")


def plain_line(text: str) -> str:
    """Return `text` as one line without escape sequences and control characters."""
    return one_line(text)


def plain_lines(text: str) -> str:
    """Return `text` without escape sequences and control characters; its lines are kept."""
    lines = re.split(r"\r\n|\r|\n", without_escapes(text).expandtabs(4))
    return "\n".join(_printable(line).rstrip() for line in lines).strip("\n")


def markdown_line(text: str) -> str:
    """Return `text` as one line of Markdown that shows it unchanged: no link, image or HTML."""
    return _MARKDOWN.sub(r"\\\1", plain_line(text))


def quoted(text: str) -> str:
    """Return `text` as a Markdown quotation that it cannot break out of."""
    lines = plain_lines(text).replace("<", "\\<").replace("![", "!\\[").split("\n")
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _printable(line: str) -> str:
    return "".join(ch if ch.isprintable() else " " for ch in line)

"""Turns any text into one printable line, or a short one. Pure."""

import re

# In the order in which a terminal tells them apart. A string (OSC, DCS, APC, PM, SOS) that has no
# end goes to the end of its line: what follows must not be swallowed with it.
_ESCAPES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x9c\n\r]*(?:[\x07\x18\x1a\x9c]|\x1b\\)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]+[0-~]?"
    r"|\x1b[0-~]?"
    r"|[\x80-\x84\x86-\x9f]"  # but for U+0085, which ends a line
)
ELLIPSIS = "…"


def one_line(text: str) -> str:
    """Return `text` as one line of printable characters with single spaces."""
    text = without_escapes(text)
    return " ".join("".join(ch if ch.isprintable() else " " for ch in text).split())


def without_escapes(text: str) -> str:
    """Return `text` without terminals' escape sequences, each cut as a whole with what it carries.

    Call it before searching for secrets: a sequence inside a secret would hide it.
    """
    return text if text.isprintable() else _ESCAPES.sub("", text)


def shortened(text: str, length: int) -> str:
    """Return at most `length` characters of `text`; an ellipsis at their end says there are more.

    The redactor takes the ellipsis as a sign that a secret before it may be cut.
    """
    return text if len(text) <= length else text[: length - 1] + ELLIPSIS

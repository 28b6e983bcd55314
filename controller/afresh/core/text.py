"""Makes any text fit where one line, or a short one, is wanted. Pure."""

ELLIPSIS = "…"


def one_line(text: str) -> str:
    """Return `text` as one line of printable characters with single spaces."""
    return " ".join("".join(ch if ch.isprintable() else " " for ch in text).split())


def shortened(text: str, length: int) -> str:
    """Return at most `length` characters of `text`; an ellipsis at their end says there are more.

    The redactor knows by it that a secret before it may have been cut.
    """
    return text if len(text) <= length else text[: length - 1] + ELLIPSIS

"""Makes any text fit where one line is wanted. Pure."""


def one_line(text: str) -> str:
    """Return `text` as one line of printable characters with single spaces."""
    return " ".join("".join(ch if ch.isprintable() else " " for ch in text).split())

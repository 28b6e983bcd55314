"""Builds messages and shortens them; the remedy is cut last.

A message is one sentence, "fact; remedy.", which may be followed by details: text of any length
from a server, a program or an agent. Pure; this module does not know any particular message.
"""

import bisect
from collections.abc import Callable

DETAILS = " Details: "
ELLIPSIS = "…"
# Fewer characters of the details would be useless.
LEAST = 24

Size = Callable[[str], int]


def with_details(sentence: str, details: str) -> str:
    """Return `sentence`, followed by `details` if there are any.

    Quoted text in the sentence is changed so that it does not look like the beginning of details.
    """
    plain = sentence.replace(DETAILS, " Details; ")
    return f"{plain}{DETAILS}{details}" if details else plain


def sentence_of(message: str) -> str:
    """Return the message without its details."""
    return message.partition(DETAILS)[0]


def fitted(message: str, limit: int, size: Size = len) -> str:
    """Return the message, shortened to at most `limit` as measured by `size`.

    First the details are cut in the middle, then dropped; then the fact before the remedy is cut in
    the middle.
    """
    if size(message) <= limit:
        return message
    sentence, _, details = message.partition(DETAILS)
    room = limit - size(sentence + DETAILS)
    if details and room >= LEAST:
        return sentence + DETAILS + without_middle(details, room, size)
    if size(sentence) <= limit:
        return sentence
    what, mark, remedy = sentence.rpartition("; ")
    room = limit - size(mark + remedy)
    if what and room >= LEAST:
        return without_middle(what, room, size) + mark + remedy
    return without_middle(sentence, limit, size)


def without_middle(text: str, limit: int, size: Size = len) -> str:
    """Return the beginning and the end of `text`, in at most `limit` as measured by `size`."""
    if size(text) <= limit:
        return text
    room = limit - size(ELLIPSIS)
    if room <= 0:
        return ""
    start = text[: _fitting(text, (room + 1) // 2, size)]
    rest = text[len(start) :][::-1]
    end = rest[: _fitting(rest, room - size(start), size)][::-1]
    return start + ELLIPSIS + end


def _fitting(text: str, limit: int, size: Size) -> int:
    """Return how many of the first characters fit into `limit` as measured by `size`."""
    sizes = range(1, min(len(text), limit) + 1)
    return bisect.bisect_right(sizes, limit, key=lambda count: size(text[:count]))

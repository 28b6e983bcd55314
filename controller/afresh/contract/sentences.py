"""Builds messages and shortens them; the remedy is cut last.

A message is one sentence, "fact; remedy.", and may have details after it: the words of a server, a
program or an agent, of any length. Pure; knows no particular message.
"""

import bisect
from collections.abc import Callable

DETAILS = " Details: "
ELLIPSIS = "…"
# Fewer characters of the details would say nothing.
LEAST = 24

Size = Callable[[str], int]


def with_details(sentence: str, details: str) -> str:
    """Return `sentence` with `details`, if there are any.

    Quoted text in the sentence cannot be mistaken for the beginning of the details.
    """
    plain = sentence.replace(DETAILS, " Details; ")
    return f"{plain}{DETAILS}{details}" if details else plain


def sentence_of(message: str) -> str:
    """Return the message without its details."""
    return message.partition(DETAILS)[0]


def fitted(message: str, limit: int, size: Size = len) -> str:
    """Return the message in at most `limit`, measured by `size`.

    First the details are cut in the middle, then left out, then the fact before the remedy is cut
    in the middle.
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
    """Return the beginning and the end of `text`, in at most `limit`."""
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
    """Return how many of the first characters fit into `limit`."""
    sizes = range(1, min(len(text), limit) + 1)
    return bisect.bisect_right(sizes, limit, key=lambda count: size(text[:count]))

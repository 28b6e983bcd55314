"""Finds the full text of a message that the package's record abbreviates. Pure.

One object holds up to 200 records, so their messages are short; the Subtask and the conditions have
room for the full text. No decision depends on it.
"""

from collections.abc import Iterable

from afresh.api.conditions import SHORT
from afresh.api.package_status import SubtaskRecord


def whole_message(record: SubtaskRecord, texts: Iterable[str]) -> str:
    """Return the first of `texts` that the record's message abbreviates, or else that message."""
    return next((text for text in texts if SHORT.cut(text) == record.message), record.message)

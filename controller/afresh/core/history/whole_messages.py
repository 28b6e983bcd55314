"""The whole of a message of which the package's record keeps what fits. Pure.

There are up to 200 records in one object, so theirs are short; the Subtask and the conditions have
room for all of it. Nothing decides by it.
"""

from collections.abc import Iterable

from afresh.api.conditions import SHORT
from afresh.api.package_status import SubtaskRecord


def whole_message(record: SubtaskRecord, told: Iterable[str]) -> str:
    """Return that of the texts `told` which the record's message was cut from, or the latter."""
    return next((text for text in told if SHORT.cut(text) == record.message), record.message)

"""Chooses the programs of acceptance commands to look for before an agent starts.

Owns the record of those that were found. Pure.
"""

from collections.abc import Iterable

from afresh.contract.report import Report
from afresh.core.names import short_hash

MOST_KEPT = 32
KEY_LENGTH = 16


def check_of(program: str, image: str, known: Iterable[str]) -> str:
    """Return the key under which the check for `program` is recorded; empty: it needs no check.

    A path may name a file that a subtask creates, and an option is not a program.
    """
    if "/" in program or program.startswith("-") or not program:
        return ""
    key = short_hash(image, program, length=KEY_LENGTH)
    return "" if key in known else key


def found_after(known: tuple[str, ...], reports: Iterable[Report]) -> tuple[str, ...]:
    """Return the keys of the programs found, after the Reports; only the latest are kept."""
    new = [key for report in reports for key in report.programs if len(key) == KEY_LENGTH]
    return tuple(dict.fromkeys((*known, *new)))[-MOST_KEPT:]

"""Chooses the programs of acceptance commands that are looked for before an agent starts.

This module owns the record of the programs that were found. Pure.
"""

from collections.abc import Iterable

from afresh.contract.report import Report
from afresh.core.names import short_hash

MOST_KEPT = 32
KEY_LENGTH = 16


def check_of(program: str, image: str, known: Iterable[str]) -> str:
    """Return the key under which the check for `program` is recorded; empty: it needs no check.

    A path is not checked, because a subtask may create the file; nor is an option.
    """
    if "/" in program or program.startswith("-") or not program:
        return ""
    key = short_hash(image, program, length=KEY_LENGTH)
    return "" if key in known else key


def found_after(known: tuple[str, ...], reports: Iterable[Report]) -> tuple[str, ...]:
    """Return the keys of all programs found, including those in `reports`, at most the last 32."""
    new = [key for report in reports for key in report.programs if len(key) == KEY_LENGTH]
    return tuple(dict.fromkeys((*known, *new)))[-MOST_KEPT:]

"""Which programs of acceptance commands are looked for before an agent starts.

Owns what is recorded of those that were found. Pure.
"""

from collections.abc import Iterable

from afresh.contract.report import Report
from afresh.core.names import short_hash

MOST_KEPT = 32
KEY_LENGTH = 16


def check_of(program: str, image: str, known: Iterable[str]) -> str:
    """Return the word by which a look for `program` is known; empty: none is needed.

    A path may name what a subtask makes, and an option is for the shell to judge.
    """
    if "/" in program or program.startswith("-") or not program:
        return ""
    key = short_hash(image, program, length=KEY_LENGTH)
    return "" if key in known else key


def found_after(known: tuple[str, ...], reports: Iterable[Report]) -> tuple[str, ...]:
    """Return what is known to be found once the Reports are taken in: the last ones."""
    new = [key for report in reports for key in report.programs if len(key) == KEY_LENGTH]
    return tuple(dict.fromkeys((*known, *new)))[-MOST_KEPT:]

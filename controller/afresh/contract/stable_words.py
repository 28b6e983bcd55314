"""Removes the varying parts of a cluster's messages, so that one cause always has one text. Pure.

Random names, counts and ports differ at each look, and each would change the status.
"""

import re

from afresh.contract.text import one_line

_CHANGES: tuple[tuple[str, str], ...] = (
    (r"\(combined from similar events\):? ?", ""),
    # The kubelet's texts for the same failure while it backs off.
    (r'Back-off pulling image "[^"]*": ErrImagePull: ', ""),
    (r"\bback-off \d[\dhms]*", "back-off"),
    # The scheduler's: the number of nodes, and what else it has tried.
    (r",? ?preemption: .*$", ""),
    (r" no new claims to deallocate\b", ""),
    (r"\b\d+/\d+ nodes are available: ", ""),
    (r"\b\d+ (?=node\(s\)|Insufficient |Preemption |Too many )", ""),
    # A Job's name, a pod's and its UID, and what others use of a quota.
    (r'\b([Pp])ods?:? "[^"]*"', r"\1od"),
    (r'\bjobs\.batch "[^"]*"', "Job"),
    (r"_[a-z0-9.-]+\([0-9a-f]{8}-[0-9a-f-]{27}\)", ""),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "…"),
    (r", used: .*?(?=, limited: )", ""),
    # The local end of a connection.
    (r"(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:]+\]):\d+->", ""),
)
_PATTERNS = tuple((re.compile(pattern), new) for pattern, new in _CHANGES)
READ_LENGTH = 4096


def steady(text: str) -> str:
    """Return the text as one line without its varying parts."""
    line = one_line(text[:READ_LENGTH])
    for pattern, new in _PATTERNS:
        line = pattern.sub(new, line)
    return line.strip()

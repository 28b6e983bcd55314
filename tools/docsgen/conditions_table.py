"""The tables of docs/reference/conditions.md: what each phase makes of the conditions.

Reads the status that the loop writes; which reasons a phase has is what the exploration saw.
"""

from collections import defaultdict

from afresh.api.phases import PackagePhase
from afresh.core.reason_table import Subject
from afresh.core.status import GOES_ON, NEEDS_A_PERSON
from tools.docsgen.explore import Explored


def render(explored: Explored) -> str:
    """Return the table, in the order of a package's life; a phase that never occurs is left out."""
    reasons = defaultdict(set)
    for subject, phase, reason in explored.facts:
        if subject == Subject.PACKAGE:
            reasons[phase].add(reason)
    lines = ["| phase | Ready | Progressing | Stalled | reasons |", "|---|---|---|---|---|"]
    for phase in PackagePhase:
        if found := sorted(reasons[phase]):
            links = ", ".join(f"[{name}](reasons.md#{name.lower()})" for name in found)
            holds = (phase is PackagePhase.SUCCEEDED, phase in GOES_ON, phase in NEEDS_A_PERSON)
            lines.append(f"| {phase} | {' | '.join(map(str, holds))} | {links} |")
    return "\n".join(lines)

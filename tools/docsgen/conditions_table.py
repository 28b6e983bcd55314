"""The table of docs/reference/conditions.md: the conditions in each phase."""

from afresh.api.phases import PackagePhase
from afresh.core.status import NEEDS_A_PERSON, PROGRESSING
from tools.docsgen.reason_phases import OF_PACKAGES


def render() -> str:
    """Return the table, with the phases in the order of a package's lifetime."""
    lines = ["| phase | Ready | Progressing | Stalled | reasons |", "|---|---|---|---|---|"]
    for phase, reasons in OF_PACKAGES.items():
        links = ", ".join(f"[{name}](reasons.md#{name.lower()})" for name in sorted(reasons))
        holds = (phase is PackagePhase.SUCCEEDED, phase in PROGRESSING, phase in NEEDS_A_PERSON)
        lines.append(f"| {phase} | {' | '.join(map(str, holds))} | {links} |")
    return "\n".join(lines)

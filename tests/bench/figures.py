"""Medians, and the table that `make bench` prints. Knows nothing of how they were measured."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """What several runs of one thing took, in seconds."""

    median: float
    min: float
    max: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Figure":
        """Summarise `seconds`, of which there is at least one."""
        numbers = (statistics.median(seconds), min(seconds), max(seconds))
        return cls(*(round(number, 3) for number in numbers))

    def row(self, name: str) -> str:
        """One line of the table."""
        return f"  {name:<44} {self.median:6.2f}  [{self.min:.2f}-{self.max:.2f}]"


def table(figures: Mapping[str, Figure], phases: Mapping[str, Figure]) -> str:
    """Return everything measured, and the ratios of this one run."""
    handover = figures["handover"]
    lines = ["Hand-over between two steps, seconds: median [min-max]"]
    lines += [figures[name].row(title) for name, title in TITLES.items()]
    lines += ["", "Ratios of the medians, from this one run"]
    for name, title in TITLES.items():
        if name.startswith("bare_") and name != "bare_first_code":
            ratio = handover.median / figures[name].median
            lines.append(f"  package / {title:<34} {ratio:6.2f}")
    lines += ["", "Where the package's hand-over goes"]
    lines += [figure.row(name) for name, figure in phases.items()]
    return "\n".join(lines)


def document(figures: Mapping[str, Figure], phases: Mapping[str, Figure]) -> dict[str, object]:
    """Return the same as plain JSON values."""
    return {
        **{name: asdict(figure) for name, figure in figures.items()},
        "phases": {name: asdict(figure) for name, figure in phases.items()},
    }


TITLES = {
    "handover": "package: agent ends -> next agent starts",
    "bare_terminated": "bare Jobs, by terminated containers (a)",
    "bare_pod_phase": "bare Jobs, by the pod's phase (b)",
    "bare_job_condition": "bare Jobs, by the Job's condition (c)",
    "bare_first_code": "bare Job: created -> first code",
}

"""What a check found. Pure."""

from dataclasses import dataclass
from enum import StrEnum


class CheckLevel(StrEnum):
    """How a check ended. UNKNOWN: the facts cannot be read."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinding:
    """One row: what was checked, how it ended, and a sentence with the remedy, if it needs one."""

    check: str
    level: CheckLevel
    message: str


@dataclass(frozen=True, slots=True)
class CheckFindings:
    """All rows."""

    rows: tuple[CheckFinding, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(row.level is not CheckLevel.FAIL for row in self.rows)

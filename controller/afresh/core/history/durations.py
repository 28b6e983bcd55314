"""Start, end and duration of a subtask or a package. Pure."""

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """A start and an end; each is None until it is known."""

    start: datetime | None = None
    end: datetime | None = None

    @property
    def duration(self) -> str:
        """The time between start and end, for a column; empty before the end."""
        if self.start is None or self.end is None:
            return ""
        return short_duration(max(0, int((self.end - self.start).total_seconds())))


def time_range_after(known: TimeRange, *, runs: bool, over: bool, now: datetime) -> TimeRange:
    """Return the range for a subtask that `runs`, is `over`, or waits (neither).

    A subtask that runs again after its end gets a new start.
    """
    if runs:
        is_new = known.start is None or known.end is not None
        return TimeRange(start=whole_utc(now)) if is_new else known
    if known.start is None:
        return TimeRange()
    if over:
        return known if known.end else TimeRange(start=known.start, end=whole_utc(now))
    return TimeRange() if known.end else known


def whole_utc(time: datetime) -> datetime:
    """Return the time in the form of statuses: in UTC, without fractions of a second."""
    return time.astimezone(UTC).replace(microsecond=0)


def short_duration(seconds: int) -> str:
    """Return a duration for a column: 42s, 3m05s, 2h04m or 3d02h."""
    for unit, name, part, part_name in (
        (86_400, "d", 3600, "h"),
        (3600, "h", 60, "m"),
        (60, "m", 1, "s"),
    ):
        if seconds >= unit:
            return f"{seconds // unit}{name}{seconds % unit // part:02}{part_name}"
    return f"{seconds}s"

"""The only place that reads the time."""

from datetime import UTC, datetime


def now() -> datetime:
    """Return the current time, aware, in UTC."""
    return datetime.now(UTC)  # noqa: TID251  # this is the one place

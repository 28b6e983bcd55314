"""The only place that reads the time."""

import time
from datetime import UTC, datetime


def now() -> datetime:
    """Return the current time, aware, in UTC."""
    return datetime.now(UTC)  # noqa: TID251  # this is the one place


def elapsed() -> float:
    """Return seconds since some fixed instant; time that the machine slept counts too."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)

"""Durations, tokens, times and commits as people read them. Pure."""

from datetime import UTC, datetime

COMMIT_LENGTH = 12


def duration(seconds: float | None) -> str:
    """Return such as 42 s, 3 min 5 s, 2 h 4 min or 3 d 2 h; empty when it is unknown."""
    if seconds is None:
        return ""
    whole = round(seconds)
    for unit, name, part, part_name in (
        (86_400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= unit:
            rest = whole % unit // part
            return f"{whole // unit} {name}" + (f" {rest} {part_name}" if rest else "")
    return f"{whole} s"


def tokens(count: int) -> str:
    """Return a count of tokens with at most three digits: 987, 12.3k, 4.56M."""
    for unit, name in ((1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")):
        # 999,950 reads as 1.00M, not as 1000k
        if count >= unit * 0.9995:
            value = count / unit
            return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}{name}"
    return str(count)


def percent(share: float | None) -> str:
    """Return a share in per cent; empty when it is unknown."""
    return "" if share is None else f"{share:.0%}".replace("%", " %")


def moment(time: datetime) -> str:
    """Return a time in UTC, to the second."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def short_commit(commit: str) -> str:
    """Return the first characters of a commit's id: enough to identify it in a repository."""
    return commit[:COMMIT_LENGTH]

"""A comparison as a table, on a terminal or in Markdown. Pure."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from afresh.cli.amounts import duration, percent, tokens
from afresh.cli.report.comparison import Comparison, Side
from afresh.cli.report.markdown import write_table
from afresh.core.status import dollars

UNKNOWN = "-"
HEAD = "change"
COMPARABLE = "They were asked for the same."
NOT_COMPARABLE = "Not comparable:"

Number = Decimal | float | None


def _rejections(side: Side) -> str:
    rate = percent(side.review_rejection_rate)
    return f"{side.review_rejections} ({rate} of {side.ever_done} done)" if rate else ""


_FACTS: tuple[tuple[str, Callable[[Side], str]], ...] = (
    ("context mode", lambda side: side.mode),
    ("agent class", lambda side: side.agent_class),
    ("outcome", lambda side: side.phase),
    ("done", lambda side: f"{side.done}/{side.subtasks} ({percent(side.done_share)})"),
    ("review rejections", _rejections),
    ("hallucination reports", lambda side: str(side.hallucination_reports)),
    ("overhead", lambda side: percent(side.overhead_share)),
)
_AMOUNTS: tuple[tuple[str, Callable[[Side], Number], Callable[[Any], str]], ...] = (
    ("attempts", lambda side: side.attempts, str),
    ("failed attempts", lambda side: side.failed_attempts, str),
    ("episodes", lambda side: side.episodes, str),
    ("uncounted episodes", lambda side: side.uncounted_episodes, str),
    ("time elapsed", lambda side: side.seconds_elapsed, duration),
    ("time in episodes", lambda side: side.seconds_in_episodes, duration),
    ("tokens", lambda side: side.tokens.all, tokens),
    ("tokens, input", lambda side: side.tokens.input, tokens),
    ("tokens, output", lambda side: side.tokens.output, tokens),
    ("tokens, cache read", lambda side: side.tokens.cache_read, tokens),
    ("tokens, cache write", lambda side: side.tokens.cache_write, tokens),
    ("cost", lambda side: side.cost_usd, dollars),
)


def write_terminal(comparison: Comparison) -> str:
    """Return the table in columns, with remarks above it."""
    rows = list(_cells(comparison))
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, cells, widths)).rstrip() for cells in rows]
    return "\n".join((*_words(comparison), "", *lines))


def write_comparison_markdown(comparison: Comparison) -> str:
    """Return the table as Markdown, with remarks above it."""
    title = f"# {comparison.first.name} and {comparison.second.name}"
    table = write_table(list(_cells(comparison)))
    return "\n\n".join((title, *_words(comparison), table))


def _words(comparison: Comparison) -> Iterator[str]:
    said = comparison.differences
    yield f"{NOT_COMPARABLE} {' '.join(said)}" if said else COMPARABLE
    yield from comparison.remarks


def _cells(comparison: Comparison) -> Iterator[Sequence[str]]:
    first, second = comparison.first, comparison.second
    yield "", first.name, second.name, HEAD
    for name, text in _FACTS:
        yield name, text(first) or UNKNOWN, text(second) or UNKNOWN, ""
    for name, amount, shown in _AMOUNTS:
        before, after = amount(first), amount(second)
        yield name, shown(before) or UNKNOWN, shown(after) or UNKNOWN, _change(before, after)


def _change(before: Number, after: Number) -> str:
    if not before or after is None:
        return ""
    return f"{(float(after) - float(before)) / float(before):+.0%}".replace("%", " %")

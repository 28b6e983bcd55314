"""The report as one HTML page that needs nothing else: no network, no script. Pure.

Imports the template engine, which takes a while: commands import this when they write a page.
"""

import base64
import hashlib
from collections.abc import Callable
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from afresh.cli.amounts import duration, moment, percent, short_commit, tokens
from afresh.cli.report.attempts import Tokens, Tried
from afresh.cli.report.html_timeline import timeline
from afresh.cli.report.report import PackageReport
from afresh.core.status import dollars

KINDS = (
    ("input", "input", "input"),
    ("output", "output", "output"),
    ("cacheRead", "cache_read", "read from the cache"),
    ("cacheWrite", "cache_write", "written to the cache"),
)
BAR_WIDTH = 1000


def write_html(report: PackageReport) -> str:
    """Return the page; texts of agents and users stand in it as texts only."""
    pages = Environment(
        loader=PackageLoader("afresh.cli.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {
        "dollars": dollars, "duration": duration, "moment": moment, "short": _short,
        "short_commit": short_commit, "tokens": tokens,
    }  # fmt: skip
    css = resources.files("afresh.cli.report").joinpath("report.css").read_text(encoding="utf-8")
    return pages.get_template("page.html.j2").render(
        report=report,
        css=Markup(css),  # noqa: S704  # a file of this program's own
        css_digest=base64.b64encode(hashlib.sha256(css.encode()).digest()).decode(),
        tiles=_tiles(report),
        timeline=timeline(report),
        parts=_parts_of(max((row.tokens.all for row in report.subtasks), default=0)),
        facts=_facts,
    )


def _tiles(report: PackageReport) -> tuple[tuple[str, str, str], ...]:
    totals = report.totals
    uncounted = totals.uncounted_episodes
    kinds = totals.tokens
    share = totals.overhead_share
    overhead = f"{percent(share)} overhead" if share is not None else "overhead unknown"
    return (
        ("Subtasks done", report.progress or f"0/{len(report.subtasks)}", ""),
        ("Episodes", str(totals.episodes), f"and {uncounted} uncounted" if uncounted else ""),
        ("Elapsed", duration(totals.seconds_elapsed), "first start to last end"),
        ("In episodes", duration(totals.seconds_in_episodes), overhead),
        ("Tokens", tokens(kinds.all), f"{tokens(kinds.output)} output"),
        ("Cost", dollars(totals.cost_usd) or "unpriced", ""),
    )


def _parts_of(most: int) -> Callable[[Tokens], list[dict[str, object]]]:
    """Return what gives tokens by kind, and where each lies on a bar that `most` of them fill."""

    def parts(count: Tokens) -> list[dict[str, object]]:
        found: list[dict[str, object]] = []
        left = 0.0
        for kind, field, text in KINDS:
            number = getattr(count, field)
            width = BAR_WIDTH * number / max(most, 1)
            title = f"{number:,} {text}"
            found.append(
                {"kind": kind, "text": text, "count": number, "title": title, "left": left,
                 "width": width}
            )  # fmt: skip
            left += width
        return found

    return parts


def _facts(item: Tried) -> str:
    facts = (
        moment(item.start) if item.start else "",
        duration(item.seconds),
        f"{item.turns} turns" if item.turns else "",
        f"{tokens(item.tokens.all)} tokens" if item.tokens.all else "",
        dollars(item.cost_usd),
    )
    return ", ".join(filter(None, facts))


def _short(number: float) -> str:
    return f"{number:g}"

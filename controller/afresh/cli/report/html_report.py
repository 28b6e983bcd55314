"""The report as one HTML page that needs nothing else: no network, no script. Pure."""

import base64
import hashlib
from collections.abc import Iterator
from importlib import resources

from afresh.cli.amounts import duration, moment, percent, short_commit, tokens
from afresh.cli.report.attempts import Tokens, Tried
from afresh.cli.report.html import Child, Markup, element, joined, style
from afresh.cli.report.html_timeline import timeline
from afresh.cli.report.report import Report, Row
from afresh.cli.report.waiting import WaitingForPerson
from afresh.core.status import dollars

KINDS = (
    ("input", "input"),
    ("output", "output"),
    ("cacheRead", "read from the cache"),
    ("cacheWrite", "written to the cache"),
)


def write_html(report: Report) -> str:
    """Return the page; texts of agents and users stand in it as texts only."""
    css = resources.files("afresh.cli.report").joinpath("report.css").read_text(encoding="utf-8")
    title = f"{report.name} in {report.namespace}"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(css)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{title}: {report.phase}"),
        style(css),
    )
    body = element("body", *_body(report))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en').html}"


def _policy(css: str) -> str:
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _body(report: Report) -> Iterator[Child]:
    yield _head(report)
    yield _tiles(report)
    yield element("h2", "Waiting for a person")
    yield from ([_card(report, item) for item in report.waiting] or [_nothing("Nothing.")])
    yield element("h2", "Timeline")
    yield timeline(report)
    yield element("h2", "What each subtask took")
    yield _table(report)
    if any(row.warnings for row in report.subtasks):
        yield element("h2", "Red flags and warnings")
        yield element("ul", *_flags(report), class_="flags")
    yield from _notes(report)
    if any(row.history for row in report.subtasks):
        yield element("h2", "Attempts")
        yield from (_attempts(row) for row in report.subtasks if row.history)
    yield element("p", f"As of {moment(report.now)}.", class_="soft small")


def _head(report: Report) -> Markup:
    done = f" {report.progress} done." if report.progress else ""
    commit = short_commit(report.head_commit)
    at = joined(" at ", element("code", commit)) if commit else None
    return element(
        "header",
        element("h1", report.name, " ", element("span", "in ", report.namespace, class_="soft")),
        element("p", report.goal) if report.goal else None,
        element(
            "p", element("span", report.phase, class_=f"badge {report.phase}"), done, " ",
            report.message,
        ),
        element(
            "p", "Branch ", element("code", report.branch), at, f", mode {report.mode}, class ",
            element("code", report.agent_class), class_="soft small",
        ),
        element("p", "Get it: ", element("code", report.fetch)) if report.fetch else None,
    )  # fmt: skip


def _tiles(report: Report) -> Markup:
    totals = report.totals
    uncounted = totals.uncounted_episodes
    kinds = totals.tokens
    share = totals.overhead_share
    overhead = f"{percent(share)} overhead" if share is not None else "overhead unknown"
    tiles = (
        ("Subtasks done", report.progress or f"0/{len(report.subtasks)}", ""),
        ("Episodes", str(totals.episodes), f"and {uncounted} uncounted" if uncounted else ""),
        ("Elapsed", duration(totals.seconds_elapsed), "first start to last end"),
        ("In episodes", duration(totals.seconds_in_episodes), overhead),
        ("Tokens", tokens(kinds.all), f"{tokens(kinds.output)} output"),
        ("Cost", dollars(totals.cost_usd) or "unpriced", ""),
    )
    return element("dl", *(_tile(*tile) for tile in tiles), class_="tiles")


def _tile(name: str, value: str, more: str) -> Markup:
    note = element("span", more, class_="small soft") if more else None
    return element("div", element("dt", name), element("dd", value, note), class_="tile")


def _card(report: Report, item: WaitingForPerson) -> Markup:
    ways = (element("li", way.what, element("code", way.command)) for way in item.ways)
    return element(
        "section",
        element("h3", f"{item.id or report.name}: {item.reason}"),
        element("p", item.message) if item.message else None,
        element("ul", *ways),
        class_="card",
    )


def _table(report: Report) -> Markup:
    most = max((row.tokens.all for row in report.subtasks), default=0)
    names = ("", "Subtask", "Attempts", "Time", "Tokens", "", "Cost")
    classes = ("mark", None, "number", "number", "number", "bar", "number")
    heads = (element("th", name, class_=cls) for name, cls in zip(names, classes, strict=True))
    legend = element(
        "ul",
        *(
            element("li", _swatch(kind), f"{text} {tokens(_kinds(report.totals.tokens)[kind])}")
            for kind, text in KINDS
        ),
        class_="legend",
    )
    return joined(
        legend,
        element(
            "div",
            element(
                "table",
                element("thead", element("tr", *heads)),
                element("tbody", *(_row(row, most) for row in report.subtasks)),
            ),
            class_="scroll",
        ),
    )


def _swatch(kind: str) -> Markup:
    mark = element("rect", width=30, height=20, class_=kind)
    return element("svg", mark, viewBox="0 0 30 20", aria_hidden="true")


def _row(row: Row, most: int) -> Markup:
    commit = element("code", short_commit(row.commit)) if row.commit else None
    what = element(
        "td",
        element("code", row.id), " ", row.title,
        element("div", row.reason, " ", commit, class_="soft small"),
        element("div", row.summary, class_="small") if row.summary else None,
        class_="what",
    )  # fmt: skip
    return element(
        "tr",
        element("td", element("code", row.marker), class_=f"mark {row.phase}"),
        what,
        _number("Attempts", str(row.attempts)),
        _number("Time", duration(row.seconds) if row.history else ""),
        _number("Tokens", tokens(row.tokens.all) if row.tokens.all else ""),
        element("td", _bar(row.tokens, most), class_="bar"),
        _number("Cost", dollars(row.cost_usd)),
    )


def _number(name: str, text: str) -> Markup:
    return element("td", text, class_="number", data_name=name if text else "")


def _kinds(count: Tokens) -> dict[str, int]:
    return {
        "input": count.input,
        "output": count.output,
        "cacheRead": count.cache_read,
        "cacheWrite": count.cache_write,
    }


def _bar(count: Tokens, most: int) -> Markup | None:
    if not count.all:
        return None
    texts, parts, left = [], [], 0.0
    for kind, text in KINDS:
        width = 1000 * _kinds(count)[kind] / most
        parts.append(element("rect", x=left, y=0, width=width, height=20, class_=kind))
        texts.append(f"{_kinds(count)[kind]:,} {text}")
        left += width
    told = ", ".join(texts)
    return element(
        "svg", element("title", told), *parts,
        viewBox="0 0 1000 20", preserveAspectRatio="none", role="img", aria_label=told,
    )  # fmt: skip


def _flags(report: Report) -> Iterator[Markup]:
    for row in report.subtasks:
        for text in row.warnings:
            yield element("li", element("code", row.id), " ", text)


def _notes(report: Report) -> Iterator[Markup]:
    notes = report.notes
    if notes.problem:
        yield element("h2", "Discoveries and ideas")
        yield element("p", notes.problem, class_="soft")
        return
    for name, text in (("Discoveries", notes.discovery), ("Ideas", notes.ideas)):
        yield element("h2", name)
        yield element("pre", text) if text else _nothing("None.")


def _attempts(row: Row) -> Markup:
    kept = len(row.history)
    count = f"{row.attempts} attempts" if row.attempts != 1 else "1 attempt"
    left = f", the last {kept} are kept" if kept < row.attempts else ""
    title = element(
        "summary",
        element("code", f"{row.marker} {row.id}"), " ", row.title, " ",
        element("span", f"({count}{left})", class_="soft"),
    )  # fmt: skip
    return element("details", title, *(_attempt(item) for item in row.history))


def _attempt(item: Tried) -> Markup:
    facts = [
        moment(item.start) if item.start else "",
        duration(item.seconds),
        f"{item.turns} turns" if item.turns else "",
        f"{tokens(item.tokens.all)} tokens" if item.tokens.all else "",
        dollars(item.cost_usd),
    ]
    outcome = element("strong", item.outcome or "runs", class_=item.ending)
    return element(
        "div",
        element("p", f"{item.number}. ", outcome, " ",
                element("span", ", ".join(filter(None, facts)), class_="soft small")),
        element("p", item.message) if item.message else None,
        element("p", item.summary) if item.summary else None,
        *_tails(item),
        class_="attempt",
    )  # fmt: skip


def _tails(item: Tried) -> Iterator[Markup]:
    """What is read of an attempt that did not go well."""
    if item.ending == "Done":
        return
    if item.verify_tail:
        yield element("p", f"The acceptance command ended with {item.verify_exit_code}:")
        yield element("pre", item.verify_tail)
    if item.log_tail:
        yield element("p", "The end of the agent's log:")
        yield element("pre", item.log_tail)


def _nothing(text: str) -> Markup:
    return element("p", text, class_="soft")

"""The report as Markdown that reads well on a terminal and on a code host. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from afresh.cli.amounts import duration, percent, short_commit, tokens
from afresh.cli.printable import markdown_line, quoted
from afresh.cli.report.branch_files import Notes
from afresh.cli.report.report import PackageReport, SubtaskRow, Totals
from afresh.cli.report.waiting import WaitingForPerson
from afresh.core.status import dollars

_COLUMNS = ("", "Subtask", "Title", "Reason", "Attempts", "Time", "Tokens", "Cost", "Commit")


def write_markdown(report: PackageReport) -> str:
    """Return the report; texts of agents and users stand in it as texts only."""
    sections = (
        _head(report),
        f"## Subtasks\n\n{write_table([_COLUMNS, *(_cells(row) for row in report.subtasks)])}",
        f"## Waiting for a person\n\n{_waiting(report)}",
        *_listed("Red flags and warnings", ((row, row.warnings) for row in report.subtasks)),
        *_listed("What now exists", ((row, (row.summary,)) for row in report.subtasks)),
        *_notes(report.notes),
    )
    return "\n\n".join(sections)


def _head(report: PackageReport) -> str:
    where = f"- Branch: `{report.branch}`"
    commit = f" at `{short_commit(report.head_commit)}`" if report.head_commit else ""
    progress = f", {report.progress} done" if report.progress else ""
    lines = [
        f"# {report.name} in {report.namespace}",
        "",
        *([markdown_line(report.goal), ""] if report.goal else []),
        f"- Phase: {report.phase}{progress}. {markdown_line(report.message)}".rstrip(),
        f"{where}{commit}",
        *([f"- Get it: `{report.fetch}`"] if report.fetch else []),
        *_sums(report.totals),
    ]
    return "\n".join(lines)


def _sums(totals: Totals) -> Iterator[str]:
    if not totals.attempts:
        return
    uncounted = totals.uncounted_episodes
    more = f" and {uncounted} uncounted" if uncounted else ""
    worked = f", {duration(totals.seconds_in_episodes)} in episodes"
    if totals.overhead_share is not None:
        worked += f", of that {percent(totals.overhead_share)} overhead"
    yield f"- Episodes: {totals.episodes}{more}"
    yield f"- Time: {duration(totals.seconds_elapsed)} elapsed{worked}"
    kinds = totals.tokens
    if kinds.all:
        yield (
            f"- Tokens: {tokens(kinds.all)} ({tokens(kinds.input)} input, {tokens(kinds.output)}"
            f" output, {tokens(kinds.cache_read)} read from the cache,"
            f" {tokens(kinds.cache_write)} written to it)"
        )
    if totals.cost_usd is not None:
        yield f"- Cost: {dollars(totals.cost_usd)}"


def _cells(row: SubtaskRow) -> Sequence[str]:
    commit = short_commit(row.commit)
    return (
        f"`{row.marker}`",
        row.id,
        markdown_line(row.title),
        markdown_line(row.reason),
        str(row.attempts),
        duration(row.seconds) if row.history else "",
        tokens(row.tokens.all) if row.tokens.all else "",
        dollars(row.cost_usd),
        f"`{commit}`" if commit else "",
    )


def write_table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table, the first row as its head, of cells that are Markdown already."""
    widths = [max(3, *(len(cell) for cell in column)) for column in zip(*rows, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(map(str.ljust, cells, widths)) + " |"
        for cells in (rows[0], rule, *rows[1:])
    )


def _waiting(report: PackageReport) -> str:
    return "\n\n".join(_item(report, item) for item in report.waiting) or "Nothing."


def _item(report: PackageReport, item: WaitingForPerson) -> str:
    message = f"\n\n{quoted(item.message)}" if item.message else ""
    ways = "\n".join(f"- {way.what}: `{way.command}`" for way in item.ways)
    return f"### {item.id or report.name}: {item.reason}{message}\n\n{ways}"


def _listed(title: str, found: Iterable[tuple[SubtaskRow, Sequence[str]]]) -> Iterator[str]:
    """A list of what was said of subtasks; nothing where nothing was."""
    lines = [f"- {row.id}: {markdown_line(text)}" for row, texts in found for text in texts if text]
    if lines:
        yield f"## {title}\n\n" + "\n".join(lines)


def _notes(notes: Notes) -> Sequence[str]:
    if notes.problem:
        return (f"## Discoveries and ideas\n\n{markdown_line(notes.problem)}",)
    found = (("Discoveries", notes.discovery), ("Ideas", notes.ideas))
    return tuple(f"## {name}\n\n{quoted(text) if text else 'None.'}" for name, text in found)

"""The report as Markdown that reads well on a terminal and on a code host. Pure."""

from collections.abc import Sequence

from afresh.cli.branch_files import Notes
from afresh.cli.printable import markdown_line, quoted
from afresh.cli.report import Report, Row, Waiting

_COLUMNS = ("", "Subtask", "Title", "Reason", "Attempts", "Commit", "Cost")
_COMMIT_LENGTH = 12


def write_markdown(report: Report) -> str:
    """Return the report; texts of agents and users stand in it as texts only."""
    sections = (
        _head(report),
        f"## Subtasks\n\n{_table([_COLUMNS, *(_cells(row) for row in report.subtasks)])}",
        f"## Waiting for a person\n\n{_waiting(report)}",
        *_notes(report.notes),
    )
    return "\n\n".join(sections)


def _head(report: Report) -> str:
    where = f"- Branch: `{report.branch}`"
    commit = f" at `{report.head_commit[:_COMMIT_LENGTH]}`" if report.head_commit else ""
    progress = f", {report.progress} done" if report.progress else ""
    lines = [
        f"# {report.name} in {report.namespace}",
        "",
        *([markdown_line(report.goal), ""] if report.goal else []),
        f"- Phase: {report.phase}{progress}. {markdown_line(report.message)}".rstrip(),
        f"{where}{commit}",
        *([f"- Cost: {report.cost}"] if report.cost else []),
    ]
    return "\n".join(lines)


def _cells(row: Row) -> Sequence[str]:
    commit = row.commit[:_COMMIT_LENGTH]
    return (
        f"`{row.marker}`",
        row.id,
        markdown_line(row.title),
        markdown_line(row.reason),
        str(row.attempts),
        f"`{commit}`" if commit else "",
        row.cost,
    )


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(3, *(len(cell) for cell in column)) for column in zip(*rows, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(map(str.ljust, cells, widths)) + " |"
        for cells in (rows[0], rule, *rows[1:])
    )


def _waiting(report: Report) -> str:
    return "\n\n".join(_item(report, item) for item in report.waiting) or "Nothing."


def _item(report: Report, item: Waiting) -> str:
    message = f"\n\n{quoted(item.message)}" if item.message else ""
    ways = "\n".join(f"- {way.what}: `{way.command}`" for way in item.ways)
    return f"### {item.id or report.name}: {item.reason}{message}\n\n{ways}"


def _notes(notes: Notes) -> Sequence[str]:
    if notes.problem:
        return (f"## Discoveries and ideas\n\n{markdown_line(notes.problem)}",)
    found = (("Discoveries", notes.discovery), ("Ideas", notes.ideas))
    return tuple(f"## {name}\n\n{quoted(text) if text else 'None.'}" for name, text in found)

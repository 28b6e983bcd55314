"""Many packages as lines, one row each, and what one that waits for a person says. Pure."""

from collections.abc import Sequence

from afresh.api.phases import PackagePhase
from afresh.cli.amounts import tokens
from afresh.cli.look.folding import Group, fold
from afresh.cli.look.package_view import PackageView
from afresh.cli.look.status_columns import GAP, PACKAGE_STYLES
from afresh.cli.look.terminal import Line, Span, Style, cut, padded, width_of
from afresh.core.history.durations import short_duration
from afresh.core.status import dollars

_NEEDS_PERSON = (PackagePhase.STALLED, PackagePhase.NEEDS_REVIEW, PackagePhase.FAILED)
_RANKS = {PackagePhase.RUNNING: 0, PackagePhase.SUCCEEDED: 3, PackagePhase.SUSPENDED: 3}
_RIGHT = ("TOKENS", "COST", "AGE")
# What is left out first where the terminal is narrow.
_DISPENSABLE = ("TOKENS", "COST", "AGE", "CURRENT", "REASON", "NAMESPACE")

Cells = dict[str, str]


def table(
    views: Sequence[PackageView], width: int, height: int | None = None, *, namespaces: bool = False
) -> list[Line]:
    """Return the packages as lines of at most `width` columns, and at most `height` of them.

    With `namespaces` each row says its own.
    """
    rows = [_cells(view, namespaces=namespaces) for view in views]
    columns = _columns(rows, width)
    head = cut(_row({name: name for name in columns}, columns), width)
    groups = [
        Group(
            key=f"{view.namespace}/{view.name}",
            rank=1 if view.phase in _NEEDS_PERSON else _RANKS.get(PackagePhase(view.phase), 2),
            lines=_lines(view, cells, columns, width),
            noted=True,
        )
        for view, cells in zip(views, rows, strict=True)
    ]
    if height is None:
        return [head, *(spans for group in groups for spans in group.lines)]
    folded = fold(groups, max(1, height - 1), lambda keys: _folded(keys, width))
    return [head, *folded][:height]


def _cells(view: PackageView, *, namespaces: bool) -> Cells:
    cells = {"NAMESPACE": view.namespace} if namespaces else {}
    return cells | {
        "NAME": view.name,
        "PHASE": view.phase,
        "PROGRESS": view.progress,
        "CURRENT": view.running,
        "REASON": view.reason,
        "TOKENS": tokens(view.tokens) if view.tokens else "",
        "COST": dollars(view.cost_usd),
        "AGE": "" if view.age_seconds is None else short_duration(view.age_seconds),
    }


def _columns(rows: Sequence[Cells], width: int) -> dict[str, int]:
    """Return the columns that fit, with their widths."""
    sizes = {
        name: max(len(name), *(width_of(row[name]) for row in rows))
        for name in rows[0]
        if any(row[name] for row in rows)
    }
    for victim in _DISPENSABLE:
        if sum(sizes.values()) + len(GAP) * (len(sizes) - 1) <= width:
            break
        sizes.pop(victim, None)
    return sizes


def _row(cells: Cells, columns: dict[str, int], style: Style = Style.PLAIN) -> Line:
    spans = []
    for name, size in columns.items():
        text = padded(cells[name], size, right=name in _RIGHT)
        spans += [Span(text, style if name == "PHASE" else Style.PLAIN), Span(GAP)]
    return tuple(spans[:-1])


def _lines(
    view: PackageView, cells: Cells, columns: dict[str, int], width: int
) -> tuple[Line, ...]:
    style = PACKAGE_STYLES.get(PackagePhase(view.phase), Style.PLAIN)
    row = cut(_row(cells, columns, style), width)
    if view.phase not in _NEEDS_PERSON or not view.message:
        return (row,)
    return row, cut((Span("    "), Span(view.message, style)), width)


def _folded(keys: Sequence[str], width: int) -> Line:
    noun = "package" if len(keys) == 1 else "packages"
    return cut((Span(f"… {len(keys)} more {noun}", Style.FAINT),), width)

"""Items as rows of columns that fit a terminal. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rich.cells import cell_len
from rich.text import Text

from afresh.cli.look.terminal import Style, line

GAP = "  "

T = TypeVar("T")


@dataclass(frozen=True)
class Column(Generic[T]):
    """One column: its cells and their colour, and whether they are aligned at the right.

    With `least`, it may be made narrower than its widest cell, but no narrower than that.
    """

    name: str
    cell: Callable[[T], str]
    style: Callable[[T], str] = lambda _: Style.PLAIN
    right: bool = False
    least: int | None = None


def rows_of(
    items: Sequence[T],
    columns: Sequence[Column[T]],
    width: int,
    dispensable: Sequence[str],
    *,
    head: bool = False,
) -> list[Text]:
    """Return a row for each item, with `head` below one of the columns' names.

    Columns that say nothing are left out, then `dispensable` ones in that order until all fit.
    """
    sizes = {
        column.name: max(cell_len(column.name) if head else 0, *found)
        for column in columns
        if any(found := [cell_len(column.cell(item)) for item in items])
    }
    least = {column.name: column.least for column in columns}
    for victim in dispensable:
        needed = sum(min(size, least[name] or size) for name, size in sizes.items())
        if needed + len(GAP) * (len(sizes) - 1) <= width:
            break
        sizes.pop(victim, None)
    over = max(0, sum(sizes.values()) + len(GAP) * (len(sizes) - 1) - width)
    shown = [
        (column, sizes[column.name] - (over if column.least else 0))
        for column in columns
        if column.name in sizes
    ]
    cells = [[Text(column.name) for column, _ in shown]] if head else []
    cells += [
        [Text(column.cell(item), column.style(item)) for column, _ in shown] for item in items
    ]
    for row in cells:
        for cell, (column, size) in zip(row, shown, strict=True):
            cell.overflow = "ellipsis"
            cell.align("right" if column.right else "left", size)
    return [_joined(row) for row in cells]


def _joined(cells: Sequence[Text]) -> Text:
    row = line(Text(GAP).join(cells))
    row.rstrip()
    return row

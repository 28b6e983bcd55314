"""The columns of a subtask's row, and the colours of phases. Pure.

Fits any width by leaving out columns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.cli.amounts import tokens
from afresh.cli.look.package_view import SubtaskView
from afresh.cli.look.terminal import Span, Style, clipped, padded, width_of
from afresh.core.history.durations import short_duration
from afresh.core.reasons import Reason
from afresh.core.status import dollars

GAP = "  "
LIVE = (SubtaskPhase.RUNNING, SubtaskPhase.QUEUED)
MIN_TITLE = 8
# The stem of the tree and the marker.
BEFORE = len("├─ [ ] ")

PACKAGE_STYLES = {
    PackagePhase.RUNNING: Style.LIVE,
    PackagePhase.SUCCEEDED: Style.GOOD,
    PackagePhase.NEEDS_REVIEW: Style.BAD,
    PackagePhase.FAILED: Style.BAD,
    PackagePhase.STALLED: Style.BAD,
    PackagePhase.SUSPENDED: Style.WARNING,
    PackagePhase.QUEUED: Style.WARNING,
}
_SUBTASK_STYLES = {
    SubtaskPhase.RUNNING: Style.LIVE,
    SubtaskPhase.QUEUED: Style.WARNING,
    SubtaskPhase.DONE: Style.GOOD,
    SubtaskPhase.SKIPPED: Style.WARNING,
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its cell, and whether it is aligned at its right."""

    cell: Callable[[SubtaskView], str]
    right: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns that fit, with their widths; a title that does not fit has the width 0."""

    id: int
    title: int
    columns: dict[str, int]

    def spans(self, item: SubtaskView) -> list[Span]:
        """Return the cells of one subtask, after its marker."""
        spans = [Span(padded(item.id, self.id), Style.HEAD)]
        if self.title:
            spans.append(Span(GAP + padded(clipped(item.title, self.title), self.title)))
        for name, size in self.columns.items():
            column = COLUMNS[name]
            text = GAP + padded(column.cell(item), size, right=column.right)
            spans.append(Span(text, style_of(item) if name == "state" else Style.PLAIN))
        return spans


def layout(items: Sequence[SubtaskView], width: int) -> Layout:
    """Return what fits into `width`: all that says something, or less from the least important."""
    sizes = {
        name: max((width_of(column.cell(item)) for item in items), default=0)
        for name, column in COLUMNS.items()
    }
    columns = {name: size for name, size in sizes.items() if size}
    title = max((width_of(item.title) for item in items), default=0)
    id_width = max((width_of(item.id) for item in items), default=0)
    for victim in DISPENSABLE:
        used = BEFORE + id_width + sum(len(GAP) + size for size in columns.values())
        room = width - used - len(GAP)
        if room >= min(title, MIN_TITLE) or (not title and room + len(GAP) >= 0):
            return Layout(id_width, min(title, room), columns)
        if victim == "title":
            title = 0
        columns.pop(victim, None)
    return Layout(id_width, 0, columns)


def style_of(item: SubtaskView) -> Style:
    """Return the colour of a subtask's phase."""
    if needs_person(item):
        return Style.BAD
    return _SUBTASK_STYLES.get(SubtaskPhase(item.phase), Style.PLAIN)


def needs_person(item: SubtaskView) -> bool:
    """Whether the subtask goes on only once a person has said something."""
    skipped = item.phase == SubtaskPhase.SKIPPED and item.reason != Reason.SKIPPED_BY_USER
    return item.phase == SubtaskPhase.NEEDS_REVIEW or skipped


def _state(item: SubtaskView) -> str:
    return item.phase if item.phase in LIVE or not item.reason else item.reason


def _attempts(item: SubtaskView) -> str:
    return f"{item.attempts} tries" if item.attempts > 1 else ""


def _time(item: SubtaskView) -> str:
    return "" if item.seconds is None else short_duration(item.seconds)


def _tokens(item: SubtaskView) -> str:
    return tokens(item.tokens) if item.tokens else ""


def _cost(item: SubtaskView) -> str:
    return dollars(item.cost_usd)


def _parts(item: SubtaskView) -> str:
    return ", ".join(f"{name} {short_duration(round(span))}" for name, span in item.spans.items())


COLUMNS = {
    "state": Column(_state),
    "attempts": Column(_attempts, right=True),
    "time": Column(_time, right=True),
    "tokens": Column(_tokens, right=True),
    "cost": Column(_cost, right=True),
    "parts": Column(_parts),
}
DISPENSABLE = ("parts", "tokens", "title", "attempts", "cost", "time", "state")
"""The columns in the order in which a narrow terminal leaves them out."""

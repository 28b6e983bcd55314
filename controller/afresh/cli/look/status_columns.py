"""The columns of a subtask's row, and the colours of phases. Pure."""

from collections.abc import Sequence

from rich.text import Text

from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.cli.amounts import tokens
from afresh.cli.look.columns import Column, rows_of
from afresh.cli.look.package_view import SubtaskView
from afresh.cli.look.terminal import Style
from afresh.core.history.durations import short_duration
from afresh.core.reasons import Reason
from afresh.core.status import dollars

LIVE = (SubtaskPhase.RUNNING, SubtaskPhase.QUEUED)
MIN_TITLE = 8

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


def subtask_rows(items: Sequence[SubtaskView], width: int) -> list[Text]:
    """Return the row of each subtask, in at most `width` columns."""
    return rows_of(items, COLUMNS, width, DISPENSABLE)


def style_of(item: SubtaskView) -> Style:
    """Return the colour of a subtask's phase."""
    if needs_person(item):
        return Style.BAD
    return _SUBTASK_STYLES.get(SubtaskPhase(item.phase), Style.PLAIN)


def needs_person(item: SubtaskView) -> bool:
    """Whether the subtask continues only after a person has answered."""
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


COLUMNS = (
    Column[SubtaskView]("id", lambda item: item.id, style=lambda _: Style.HEAD),
    Column[SubtaskView]("title", lambda item: item.title, least=MIN_TITLE),
    Column("state", _state, style=style_of),
    Column("attempts", _attempts, right=True),
    Column("time", _time, right=True),
    Column("tokens", _tokens, right=True),
    Column("cost", _cost, right=True),
    Column("parts", _parts),
)
DISPENSABLE = ("parts", "tokens", "title", "attempts", "cost", "time", "state")
"""The columns in the order in which a narrow terminal leaves them out."""

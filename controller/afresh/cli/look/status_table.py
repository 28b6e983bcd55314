"""Many packages as lines, one row each, and what one that waits for a person says. Pure."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from afresh.api.phases import PackagePhase
from afresh.cli.amounts import tokens
from afresh.cli.look.columns import Column, rows_of
from afresh.cli.look.package_view import PackageView
from afresh.cli.look.status_columns import PACKAGE_STYLES
from afresh.cli.look.terminal import Size, Style, line
from afresh.cli.look.truncate import Group, truncate
from afresh.core.history.durations import short_duration
from afresh.core.status import dollars

_NEEDS_PERSON = (PackagePhase.STALLED, PackagePhase.NEEDS_REVIEW, PackagePhase.FAILED)
_RANKS = {PackagePhase.RUNNING: 0, PackagePhase.SUCCEEDED: 3, PackagePhase.SUSPENDED: 3}
# What is left out first where the terminal is narrow.
_DISPENSABLE = ("TOKENS", "COST", "AGE", "CURRENT", "REASON", "NAMESPACE")


def table(
    views: Sequence[PackageView], size: Size, *, namespaces: bool = False, wide: bool = False
) -> list[Text]:
    """Return the packages as lines for a terminal of that size.

    With `namespaces` each row says its own; with `wide` each says its class and its branch.
    """
    width, height = size
    columns = (COLUMNS if namespaces else COLUMNS[1:]) + (WIDE_COLUMNS if wide else ())
    head, *rows = rows_of(views, columns, width, _DISPENSABLE, head=True)
    groups = [
        Group(
            key=f"{view.namespace}/{view.name}",
            rank=1 if view.phase in _NEEDS_PERSON else _RANKS.get(PackagePhase(view.phase), 2),
            lines=(row, *_message(view)),
            noted=True,
        )
        for view, row in zip(views, rows, strict=True)
    ]
    if height is None:
        return [head, *(text for group in groups for text in group.lines)]
    return [head, *truncate(groups, max(1, height - 1), _summary)][:height]


def _message(view: PackageView) -> Iterator[Text]:
    if view.phase in _NEEDS_PERSON and view.message:
        yield line("    ", (view.message, _style(view)))


def _style(view: PackageView) -> Style:
    return PACKAGE_STYLES.get(PackagePhase(view.phase), Style.PLAIN)


def _summary(keys: Sequence[str]) -> Text:
    noun = "package" if len(keys) == 1 else "packages"
    return line((f"… {len(keys)} more {noun}", Style.FAINT))


COLUMNS = (
    Column[PackageView]("NAMESPACE", lambda view: view.namespace),
    Column[PackageView]("NAME", lambda view: view.name),
    Column("PHASE", lambda view: view.phase, style=_style),
    Column[PackageView]("PROGRESS", lambda view: view.progress),
    Column[PackageView]("CURRENT", lambda view: view.running),
    Column[PackageView]("REASON", lambda view: view.reason),
    Column[PackageView](
        "TOKENS", lambda view: tokens(view.tokens) if view.tokens else "", right=True
    ),
    Column[PackageView]("COST", lambda view: dollars(view.cost_usd), right=True),
    Column[PackageView](
        "AGE",
        lambda view: "" if view.age_seconds is None else short_duration(view.age_seconds),
        right=True,
    ),
)

WIDE_COLUMNS = (
    Column[PackageView]("CLASS", lambda view: view.agent_class_name),
    Column[PackageView]("BRANCH", lambda view: view.branch),
)

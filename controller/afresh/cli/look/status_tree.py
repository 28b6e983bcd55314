"""The tree of one package as lines: its head, and a branch for each subtask. Pure.

Fits any width by leaving out columns, and any height by summarizing what is least of interest.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.text import Text

from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.cli.amounts import short_commit, tokens
from afresh.cli.look.columns import GAP
from afresh.cli.look.package_view import GateView, PackageView, SubtaskView
from afresh.cli.look.status_columns import (
    LIVE,
    PACKAGE_STYLES,
    needs_person,
    style_of,
    subtask_rows,
)
from afresh.cli.look.terminal import Style, line, wrapped
from afresh.cli.look.truncate import Group, truncate
from afresh.core.history.durations import short_duration
from afresh.core.status import dollars

MIN_NOTE = 20
MAX_NOTE_LINES = 4
# The stem of the tree and the marker.
BEFORE = len("├─ [ ] ")


def tree(view: PackageView, width: int, height: int | None = None) -> list[Text]:
    """Return the package as lines for `width` columns, and at most `height` of them."""
    head, foot = list(_head(view, width)), list(_foot(view))
    groups = _groups(view, width)
    if height is None:
        return [*head, *(text for group in groups for text in group.lines), *foot]
    room = max(1, height - len(head) - len(foot))
    known = {item.id: item for item in view.subtasks}
    shortened = truncate(groups, room, lambda keys: _summary([known[key] for key in keys]))
    return [*head, *shortened, *foot][:height]


def _head(view: PackageView, width: int) -> Iterator[Text]:
    done, _, whole = view.progress.partition("/")
    facts = [f"{done} of {whole} done"]
    facts += [f"{tokens(view.tokens)} tokens"] if view.tokens else []
    facts += [dollars(view.cost_usd)] if view.cost_usd is not None else []
    facts += [f"age {short_duration(view.age_seconds)}"] if view.age_seconds is not None else []
    yield line(
        (view.title, Style.HEAD),
        GAP,
        (view.phase, PACKAGE_STYLES.get(PackagePhase(view.phase), Style.PLAIN)),
        GAP + ", ".join(facts),
    )
    if not view.current:
        yield line(("The operator has not looked at the last change yet.", Style.WARNING))
    elif view.message:
        yield from _few_lines(f"{view.reason}: {view.message}", width)
    commit = f" at {short_commit(view.head_commit)}" if view.head_commit else ""
    yield line((f"branch {view.branch}{commit}", Style.FAINT))
    if view.fetch:
        yield from (line(text) for text in _command(view.fetch, width))
    if view.gate:
        yield line((gate_sentence(view.gate), Style.WARNING))


def _command(text: str, width: int) -> list[str]:
    """Return a command in lines that a shell takes as one, where it does not fit into one."""
    if len(text) <= width:
        return [text]
    start, _, last = text.rpartition(" ")
    return [f"{start} \\", f"  {last}"]


def gate_sentence(gate: GateView) -> str:
    """Say how long the gate is closed and why."""
    times = "once" if gate.step == 1 else f"{gate.step} times in a row"
    end = f"for {short_duration(gate.seconds)}" if gate.seconds else "until one package has tried"
    return f"the gate of Secret {gate.secret_name} is closed {end}: {gate.reason}, refused {times}"


def _foot(view: PackageView) -> Iterator[Text]:
    if not view.namespace:
        return  # these commands ask a cluster
    waiting = [item for item in view.subtasks if needs_person(item)]
    if waiting:
        yield line((f"How to answer: afresh report -n {view.namespace} {view.name}", Style.FAINT))
    elif view.phase == PackagePhase.STALLED:
        yield line((f"What to do: afresh explain -n {view.namespace} {view.name}", Style.FAINT))


def _groups(view: PackageView, width: int) -> list[Group]:
    rows = subtask_rows(view.subtasks, width - BEFORE)
    groups = []
    for index, (item, row) in enumerate(zip(view.subtasks, rows, strict=True), start=1):
        branch, stem = ("└─ ", "   ") if index == len(rows) else ("├─ ", "│  ")
        stem += "    "
        first = line((branch, Style.FAINT), (item.marker, style_of(item)), " ", row)
        notes = [
            line((stem, Style.FAINT), text)
            for note, style in _notes(item)
            for text in _few_lines(note, width - len(stem), style)
        ]
        groups.append(Group(item.id, _rank(item), (first, *notes), noted=needs_person(item)))
    return groups


def _few_lines(text: str, width: int, style: Style = Style.PLAIN) -> list[Text]:
    """Return a text as few lines; the end of a long one is left out."""
    return wrapped(text, max(width, MIN_NOTE), style, MAX_NOTE_LINES)


def _notes(item: SubtaskView) -> Iterator[tuple[str, Style]]:
    """What is to be said of a subtask besides its row."""
    if item.message and item.phase != SubtaskPhase.DONE:
        yield item.message, style_of(item) if needs_person(item) else Style.FAINT
    if item.waits_seconds is not None:
        yield f"waits {short_duration(item.waits_seconds)} before it starts", Style.WARNING
    if item.waits_for:
        yield f"waits for {', '.join(item.waits_for)}", Style.FAINT


def _rank(item: SubtaskView) -> int:
    """The less, the more it is of interest."""
    if item.phase in LIVE:
        return 0
    if needs_person(item):
        return 1
    return 2 if item.phase == SubtaskPhase.PENDING and not item.waits_for else 3


def _summary(items: Sequence[SubtaskView]) -> Text:
    """Say which subtasks stand here, and how many of each kind."""
    ids = items[0].id if len(items) == 1 else f"{items[0].id} to {items[-1].id}"
    kinds = Counter(item.marker for item in items)
    said = ", ".join(f"{number} {marker}" for marker, number in kinds.items())
    return line((f"│  … {ids}: {said}", Style.FAINT))

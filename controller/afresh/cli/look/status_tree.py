"""The tree of one package as lines: its head, and a branch for each subtask. Pure.

Fits any width by leaving out columns, and any height by folding what is least of interest.
"""

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.cli.amounts import short_commit, tokens
from afresh.cli.look.folding import Group, fold
from afresh.cli.look.package_view import GateView, PackageView, SubtaskView
from afresh.cli.look.status_columns import GAP, LIVE, PACKAGE_STYLES, layout, needs_person, style_of
from afresh.cli.look.terminal import Line, Span, Style, cut, line
from afresh.core.history.durations import short_duration
from afresh.core.status import dollars

MIN_NOTE = 20
MAX_NOTE_LINES = 4


def tree(view: PackageView, width: int, height: int | None = None) -> list[Line]:
    """Return the package as lines of at most `width` columns, and at most `height` of them."""
    head = [cut(spans, width) for spans in _head(view, width)]
    foot = [cut(spans, width) for spans in _foot(view)]
    groups = _groups(view, width)
    if height is None:
        return [*head, *(spans for group in groups for spans in group.lines), *foot]
    room = max(1, height - len(head) - len(foot))
    known = {item.id: item for item in view.subtasks}
    folded = fold(groups, room, lambda keys: _folded([known[key] for key in keys], width))
    return [*head, *folded, *foot][:height]


def _head(view: PackageView, width: int) -> Iterator[Line]:
    done, _, whole = view.progress.partition("/")
    facts = [f"{done} of {whole} done"]
    facts += [f"{tokens(view.tokens)} tokens"] if view.tokens else []
    facts += [dollars(view.cost_usd)] if view.cost_usd is not None else []
    facts += [f"age {short_duration(view.age_seconds)}"] if view.age_seconds is not None else []
    yield (
        Span(f"{view.namespace}/{view.name}", Style.HEAD),
        Span(GAP),
        Span(view.phase, PACKAGE_STYLES.get(PackagePhase(view.phase), Style.PLAIN)),
        Span(GAP + ", ".join(facts)),
    )
    if not view.current:
        yield line("The operator has not looked at the last change yet.", Style.WARNING)
    elif view.message:
        yield from (line(text) for text in _wrapped(f"{view.reason}: {view.message}", width))
    commit = f" at {short_commit(view.head_commit)}" if view.head_commit else ""
    yield line(f"branch {view.branch}{commit}", Style.FAINT)
    if view.fetch:
        yield from (line(text) for text in _command(view.fetch, width))
    if view.gate:
        yield line(gate_sentence(view.gate), Style.WARNING)


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


def _foot(view: PackageView) -> Iterator[Line]:
    waiting = [item for item in view.subtasks if needs_person(item)]
    if waiting:
        yield line(f"How to answer: afresh report -n {view.namespace} {view.name}", Style.FAINT)
    elif view.phase == PackagePhase.STALLED:
        yield line(f"What to do: afresh explain -n {view.namespace} {view.name}", Style.FAINT)


def _groups(view: PackageView, width: int) -> list[Group]:
    fitting = layout(view.subtasks, width)
    last = len(view.subtasks) - 1
    groups = []
    for index, item in enumerate(view.subtasks):
        branch, stem = ("└─ ", "   ") if index == last else ("├─ ", "│  ")
        marker = Span(item.marker, style_of(item))
        row = (Span(branch, Style.FAINT), marker, Span(" "), *fitting.spans(item))
        stem += "    "
        notes = [
            cut((Span(stem, Style.FAINT), Span(text, style)), width)
            for note, style in _notes(item)
            for text in _wrapped(note, width - len(stem))
        ]
        lines = (cut(row, width), *notes)
        groups.append(Group(item.id, _rank(item), lines, noted=needs_person(item)))
    return groups


def _wrapped(text: str, width: int) -> list[str]:
    """Return a text as few lines; the end of a long one is left out."""
    return textwrap.wrap(text, max(width, MIN_NOTE), max_lines=MAX_NOTE_LINES, placeholder=" …")


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


def _folded(items: Sequence[SubtaskView], width: int) -> Line:
    """Say which subtasks stand here, and how many of each kind."""
    ids = items[0].id if len(items) == 1 else f"{items[0].id} to {items[-1].id}"
    kinds = Counter(item.marker for item in items)
    said = ", ".join(f"{number} {marker}" for marker, number in kinds.items())
    return cut((Span(f"│  … {ids}: {said}", Style.FAINT),), width)

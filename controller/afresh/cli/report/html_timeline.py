"""Where everything lies on the picture of the timeline: one lane for each subtask. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from afresh.cli.amounts import duration, moment
from afresh.cli.report.report import PackageReport, SubtaskRow
from afresh.cli.report.timeline import WIDTH, Line, SpanKind, TimelineSpan, line_of, spans_of

HEIGHT = 20.0
LEAST = 3.0  # what is shorter is drawn so wide, to be seen
# Top and height: what a colour says, the shape says too.
SHAPES = {
    "Done": (2.0, 16.0),
    "Failed": (10.0, 8.0),
    "Halted": (6.0, 12.0),
    "Uncounted": (13.0, 5.0),
    "Running": (2.0, 16.0),
    "queued": (9.0, 2.0),
    "wait": (16.0, 2.0),
    "person": (9.0, 2.0),
}
LEGEND = (
    ("Done", "done"),
    ("Failed", "failed, counted"),
    ("Halted", "halted for a person"),
    ("Uncounted", "not the agent's doing, uncounted"),
    ("Running", "runs now"),
    ("queued", "queued, or later in its batch"),
    ("wait", "waits for a provider, a node or a correction"),
    ("person", "waits for a person"),
    ("fold", "folded: nothing ran"),
)
LABEL_WIDTH = 90.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle; its shape decides its colour. `title` is its tooltip."""

    shape: str
    title: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """The picture; `axis` says which time it is about, and is empty where nothing has happened.

    A key is a shape with its meaning, top and height. A label is a place, a time, and whether it is
    left out where the page is narrow. A lane is a subtask, its bars, and what they tell.
    """

    axis: str = ""
    keys: Sequence[tuple[str, str, float, float]] = ()
    labels: Sequence[tuple[str, str, bool]] = ()
    lanes: Sequence[tuple[SubtaskRow, Sequence[Bar], str]] = ()


def timeline(report: PackageReport) -> Timeline:
    """Return the picture."""
    lanes = [(row, spans_of(row, report.now)) for row in report.subtasks]
    line = line_of(span for _, spans in lanes for span in spans)
    if not line.pieces:
        return Timeline()
    used = {_shape(span) for _, spans in lanes for span in spans}
    used |= {"fold" for piece in line.pieces if piece.folded}
    return Timeline(
        axis=f"From {moment(line.pieces[0].start)} to {moment(line.pieces[-1].end)}",
        keys=[
            (shape, text, *SHAPES.get(shape, (0.0, HEIGHT)))
            for shape, text in LEGEND
            if shape in used
        ],
        labels=list(_labels(line)),
        lanes=[
            (row, [*_folds(line), *(_bar(span, line) for span in spans)], _said(row, spans))
            for row, spans in lanes
        ],
    )


def _said(row: SubtaskRow, spans: Sequence[TimelineSpan]) -> str:
    return f"{row.id}: {'; '.join(map(_description, spans)) or 'nothing yet'}"


def _labels(line: Line) -> Iterator[tuple[str, str, bool]]:
    free, day, wide = 0.0, None, False
    for place, time in line.ticks():
        if place < free or place > WIDTH - LABEL_WIDTH / 2:
            continue
        yield f"{place / WIDTH:.1%}", _label(time, day), wide
        free = place + LABEL_WIDTH * (1 if wide else 1.5)
        wide, day = not wide, time.astimezone(UTC).date()


def _label(time: datetime, day: object) -> str:
    at = time.astimezone(UTC)
    seconds = ":%S" if at.second else ""
    return f"{at:%b %-d %H:%M}" if at.date() != day else f"{at:%H:%M{seconds}}"


def _folds(line: Line) -> Iterator[Bar]:
    for piece in line.pieces:
        if piece.folded:
            length = duration((piece.end - piece.start).total_seconds())
            title = f"Folded: {length} in which nothing ran"
            yield Bar("fold", title, piece.left, 0, piece.right - piece.left, HEIGHT)


def _bar(span: TimelineSpan, line: Line) -> Bar:
    top, height = SHAPES[_shape(span)]
    left = min(line.at(span.start), WIDTH - LEAST)
    width = max(line.at(span.end) - left, LEAST)
    return Bar(_shape(span), _description(span), round(left, 2), top, round(width, 2), height)


def _shape(span: TimelineSpan) -> str:
    return span.attempt.ending if span.attempt else span.kind


def _description(span: TimelineSpan) -> str:
    length = duration((span.end - span.start).total_seconds())
    if span.attempt:
        outcome = span.attempt.outcome or "runs"
        return f"attempt {span.attempt.number}: {outcome}, {length}, from {moment(span.start)}"
    words = {
        SpanKind.QUEUED: "queued",
        SpanKind.WAIT: span.why,
        SpanKind.PERSON: "waits for a person",
    }
    return f"{words[span.kind]}, {length}"

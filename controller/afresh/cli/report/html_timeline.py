"""The timeline as a picture: one lane for each subtask, as inline SVG that fits any width. Pure."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from afresh.cli.amounts import duration, moment
from afresh.cli.report.html import Child, Markup, element
from afresh.cli.report.report import Report, Row
from afresh.cli.report.timeline import WIDTH, Kind, Line, Span, line_of, spans_of

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


def timeline(report: Report) -> Markup:
    """Return the picture, or a sentence where there is nothing to draw."""
    lanes = [(row, spans_of(row, report.now)) for row in report.subtasks]
    line = line_of(span for _, spans in lanes for span in spans)
    if not line.pieces:
        return element("p", "No episode has started.", class_="soft")
    used = {_shape(span) for _, spans in lanes for span in spans}
    used |= {"fold" for piece in line.pieces if piece.folded}
    return element(
        "div",
        element(
            "ul",
            *(_key(shape, text) for shape, text in LEGEND if shape in used),
            class_="legend",
        ),
        _axis(line),
        element("div", *(_lane(row, spans, line) for row, spans in lanes)),
    )


def _key(shape: str, text: str) -> Markup:
    top, height = SHAPES.get(shape, (0.0, HEIGHT))
    mark = element("rect", x=0, y=top, width=30, height=height, class_=shape)
    return element("li", element("svg", mark, viewBox="0 0 30 20", aria_hidden="true"), text)


def _axis(line: Line) -> Markup:
    start, end = line.pieces[0].start, line.pieces[-1].end
    what = f"From {moment(start)} to {moment(end)}"
    texts: list[Child] = []
    free, day = 0.0, None
    for place, time in line.ticks():
        if place < free or place > WIDTH - LABEL_WIDTH / 2:
            continue
        label = _label(time, day)
        # Every second one is left out where the page is narrow.
        wide = "wide" if len(texts) % 2 else None
        texts.append(element("text", label, x=f"{place / WIDTH:.1%}", y="70%", class_=wide))
        free = place + LABEL_WIDTH * (1 if wide else 1.5)
        day = time.astimezone(UTC).date()
    picture = element("svg", element("title", what), *texts, role="img", aria_label=what)
    return element("div", element("div", "UTC", class_="name soft"), picture, class_="lane axis")


def _label(time: datetime, day: object) -> str:
    at = time.astimezone(UTC)
    seconds = ":%S" if at.second else ""
    return f"{at:%b %-d %H:%M}" if at.date() != day else f"{at:%H:%M{seconds}}"


def _lane(row: Row, spans: Sequence[Span], line: Line) -> Markup:
    label = element(
        "div",
        element("code", f"{row.marker} {row.id}"),
        " ",
        element("span", row.title, class_="title soft"),
        class_="name",
        title=f"{row.id} {row.title}".rstrip(),
    )
    said = "; ".join(_told(span) for span in spans) or "nothing yet"
    picture = element(
        "svg",
        *_folds(line),
        *(_bar(span, line) for span in spans),
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
        preserveAspectRatio="none",
        role="img",
        aria_label=f"{row.id}: {said}",
    )
    return element("div", label, picture, class_="lane")


def _folds(line: Line) -> Iterator[Markup]:
    for piece in line.pieces:
        if piece.folded:
            width = piece.right - piece.left
            length = duration((piece.end - piece.start).total_seconds())
            title = element("title", f"Folded: {length} in which nothing ran")
            yield element(
                "rect", title, x=piece.left, y=0, width=width, height=HEIGHT, class_="fold"
            )


def _bar(span: Span, line: Line) -> Markup:
    top, height = SHAPES[_shape(span)]
    left = min(line.at(span.start), WIDTH - LEAST)
    return element(
        "rect",
        element("title", _told(span)),
        x=round(left, 2),
        y=top,
        width=round(max(line.at(span.end) - left, LEAST), 2),
        height=height,
        class_=_shape(span),
    )


def _shape(span: Span) -> str:
    return span.attempt.ending if span.attempt else span.kind


def _told(span: Span) -> str:
    length = duration((span.end - span.start).total_seconds())
    if span.attempt:
        outcome = span.attempt.outcome or "runs"
        return f"attempt {span.attempt.number}: {outcome}, {length}, from {moment(span.start)}"
    words = {Kind.QUEUED: "queued", Kind.WAIT: span.why, Kind.PERSON: "waits for a person"}
    return f"{words[span.kind]}, {length}"

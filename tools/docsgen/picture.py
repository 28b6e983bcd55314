"""Draws a diagram as an SVG picture. The positions come from `tools.docsgen.phases`."""

from collections.abc import Iterator
from html import escape

from afresh.api.phases import SubtaskPhase
from afresh.core.history.transitions import MARKERS
from tools.docsgen.palette import FONT, style
from tools.docsgen.phases import ANY, END, START, Box, Diagram, Edge

LINE_HEIGHT = 16
_TIP = (
    '  <defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
    'markerHeight="7" orient="auto-start-reverse">'
    '<path class="tip" d="M0 0 L10 5 L0 10 z"/></marker></defs>'
)
_CLASSES = {
    "Done": "good",
    "Succeeded": "good",
    "Running": "working",
    "Queued": "working",
    "NeedsReview": "person",
    "Failed": "person",
    "Stalled": "person",
}


def render(diagram: Diagram) -> str:
    """Return the picture as SVG text."""
    width, height = diagram.width, diagram.height
    body = [
        *(_group(name, box) for name, box in diagram.group_boxes.items()),
        *(line for edge in diagram.edges for line in _edge(edge)),
        *(line for name, box in diagram.phases.items() for line in _phase(diagram, name, box)),
        f'  <text class="g" x="{width - 20}" y="{height - 12}" text-anchor="end">'
        "dashed: caused by a person</text>",
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'font-family="{FONT}" role="img" aria-labelledby="title">',
            f'  <title id="title">{escape(diagram.title)}</title>',
            f"  <style>\n{style()}  </style>",
            _TIP,
            f'  <rect class="paper" width="{width}" height="{height}" rx="8"/>',
            *body,
            "</svg>\n",
        ]
    )


def _group(name: str, box: Box) -> str:
    x, y, width, height = box
    return (
        f'  <rect class="group" x="{x}" y="{y}" width="{width}" height="{height}" rx="10"/>\n'
        f'  <text class="g" x="{x + 12}" y="{y + 20}">{escape(name)}</text>'
    )


def _phase(diagram: Diagram, name: str, box: Box) -> Iterator[str]:
    x, y, width, height = box
    middle, centre = x + width // 2, y + height // 2
    if name in (START, END):
        yield f'  <circle class="dot" cx="{middle}" cy="{centre}" r="{width // 2}"/>'
        return
    kind = "any" if name == ANY else _CLASSES.get(name, "phase")
    yield (
        f'  <rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" '
        f'rx="{height // 2 if name == ANY else 8}"/>'
    )
    if name == ANY:
        yield f'  <text class="t" x="{middle}" y="{centre + 4}" text-anchor="middle">{name}</text>'
    elif SubtaskPhase.DONE in diagram.phases:
        marker = MARKERS[SubtaskPhase(name)]
        yield f'  <text class="h" x="{middle}" y="{centre - 2}">{name}</text>'
        yield f'  <text class="m" x="{middle}" y="{centre + 18}">{marker}</text>'
    else:
        yield f'  <text class="h" x="{middle}" y="{centre + 5}">{name}</text>'


def _edge(edge: Edge) -> Iterator[str]:
    kind = "line edit" if edge.by_person else "line"
    yield f'  <path class="{kind}" d="{edge.path}"/>'
    for number, words in enumerate(edge.words):
        y = edge.y + number * LINE_HEIGHT
        yield (
            f'  <text class="t" x="{edge.x}" y="{y}" text-anchor="{edge.anchor}">'
            f"{escape(words)}</text>"
        )

"""The episode's pod as a picture: one column for each container, one row for each volume."""

from collections.abc import Iterator, Sequence
from html import escape

from afresh.contract import pod_layout as at
from tools.docsgen.palette import FONT, style
from tools.docsgen.pod_mounts import CONTAINERS, Mount, MountRow

TITLE = "The episode's pod: which container mounts which volume"
_LEFT, _COLUMN, _GAP = 372, 216, 12
_TOP, _ROW = 92, 30
_WORDS = {
    at.RUNNER: ("person", "holds every credential"),
    at.AGENT: ("working", "holds no credential, no history"),
    at.VERIFY: ("good", "holds the commit to verify"),
}


def render(rows: Sequence[MountRow]) -> str:
    """Return the picture as SVG text."""
    height = _TOP + _ROW * len(rows) + 40
    width = _LEFT + len(CONTAINERS) * (_COLUMN + _GAP) + 12
    body = [
        *(line for index in range(len(CONTAINERS)) for line in _column(index, height)),
        *(line for number, row in enumerate(rows) for line in _row(number, row)),
        f'  <text class="g" x="24" y="{height - 14}">solid: may write; dashed: read-only</text>',
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'font-family="{FONT}" role="img" aria-labelledby="title">',
            f'  <title id="title">{TITLE}</title>',
            f"  <style>\n{style()}  </style>",
            f'  <rect class="paper" width="{width}" height="{height}" rx="8"/>',
            *body,
            "</svg>\n",
        ]
    )


def _left(index: int) -> int:
    return _LEFT + index * (_COLUMN + _GAP)


def _column(index: int, height: int) -> Iterator[str]:
    name = CONTAINERS[index]
    kind, words = _WORDS[name]
    left, middle = _left(index), _left(index) + _COLUMN // 2
    size = f'width="{_COLUMN}" height="{height - 56}"'
    yield f'  <rect class="{kind}" x="{left}" y="16" {size} rx="8"/>'
    yield f'  <text class="h" x="{middle}" y="42">{name}</text>'
    yield f'  <text class="t" x="{middle}" y="64" text-anchor="middle">{words}</text>'


def _row(number: int, row: MountRow) -> Iterator[str]:
    top = _TOP + number * _ROW
    yield f'  <text class="t" x="24" y="{top + 16}">{escape(row.meaning)}</text>'
    for index, name in enumerate(CONTAINERS):
        if mount := row.mounts.get(name):
            yield from _mount(_left(index) + 8, top, mount)


def _mount(left: int, top: int, mount: Mount) -> Iterator[str]:
    width = _COLUMN - 16
    kind = "any" if mount.read_only else "phase"
    yield f'  <rect class="{kind}" x="{left}" y="{top}" width="{width}" height="24" rx="4"/>'
    yield f'  <text class="m" x="{left + width // 2}" y="{top + 16}">{mount.path}</text>'

"""Leaves out of a long list what is of least interest, so that it fits. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.text import Text


@dataclass(frozen=True, slots=True)
class Group:
    """The lines of one item; the first is its own, those after it are notes.

    The less its `rank`, the later it is left out. If `noted`, its notes matter as much as itself.
    """

    key: str
    rank: int
    lines: tuple[Text, ...]
    noted: bool = False


def truncate(
    groups: Sequence[Group], room: int, summary: Callable[[Sequence[str]], Text]
) -> list[Text]:
    """Return at most `room` lines in the order of the list.

    Notes go first where they matter less, then groups by rank, those far from the first of the
    lowest rank before those near it. What is left out between two others becomes the line that
    `summary` makes of its keys.
    """
    if sum(len(group.lines) for group in groups) <= room:
        return [text for group in groups for text in group.lines]
    kept = _kept(groups, room)
    lines: list[Text] = []
    for is_kept, run in groupby(groups, key=lambda group: group.key in kept):
        if is_kept:
            lines += [text for group in run for text in group.lines[: kept[group.key]]]
        else:
            lines.append(summary([group.key for group in run]))
    return lines[:room]


def _kept(groups: Sequence[Group], room: int) -> dict[str, int]:
    """How many lines of which groups are shown: by rank as many groups as fit, then notes."""
    places = {group.key: index for index, group in enumerate(groups)}
    lowest = min(group.rank for group in groups)
    centre = next(index for index, group in enumerate(groups) if group.rank == lowest)
    order = sorted(groups, key=lambda group: (group.rank, abs(places[group.key] - centre)))
    kept: dict[str, int] = {}
    for group in order:
        whole = len(group.lines) if group.noted else 1
        for size in dict.fromkeys((whole, 1)):
            if _height(groups, {**kept, group.key: size}) <= room:
                kept[group.key] = size
                break
    for group in order:
        more = {**kept, group.key: len(group.lines)}
        if group.key in kept and _height(groups, more) <= room:
            kept = more
    return kept


def _height(groups: Sequence[Group], kept: dict[str, int]) -> int:
    runs = sum(not key for key, _ in groupby(groups, key=lambda group: group.key in kept))
    return runs + sum(kept.values())

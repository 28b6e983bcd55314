"""What is wrong with the dependencies among subtasks, named by their ids. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from afresh.api.work_package import UNKNOWN_DEPENDENCY
from afresh.cli.manifest.findings import Path, meant
from afresh.core.history import graph

MOST_CYCLES = 20


@dataclass(slots=True)
class _Written:
    """A subtask as far as its id and its dependencies can be read."""

    index: int
    id: str
    depends_on: list[tuple[int, str]]


def dependency_faults(spec: Any) -> Iterator[tuple[Path, str]]:
    """Yield unknown dependencies, cycles, and ids that differ only in case."""
    entries = _entries(spec)
    indices = {entry.id: entry.index for entry in entries}
    for entry in entries:
        for index, wanted in entry.depends_on:
            if wanted not in indices:
                path: Path = ("spec", "subtasks", entry.index, "dependsOn", index)
                others = [item for item in indices if item != entry.id]
                yield path, f'"{wanted}": {UNKNOWN_DEPENDENCY}{meant(wanted, others)}'
    yield from _alike(entries)
    edges = {entry.id: [wanted for _, wanted in entry.depends_on] for entry in entries}
    for _ in range(MOST_CYCLES):
        cycle = graph.cycle_among(edges)
        if not cycle:
            return
        edges[cycle[-2]].remove(cycle[-1])
        # That a subtask depends on itself is a rule of the model.
        if len(cycle) > 2:
            path = ("spec", "subtasks", indices[cycle[-2]], "dependsOn")
            yield path, f"the subtasks depend on each other in a circle: {' -> '.join(cycle)}"


def _entries(spec: Any) -> list[_Written]:
    subtasks = spec.get("subtasks") if isinstance(spec, dict) else None
    return [
        _Written(index, item["id"], _names(item.get("dependsOn")))
        for index, item in enumerate(subtasks if isinstance(subtasks, list) else [])
        if isinstance(item, dict) and isinstance(item.get("id"), str)
    ]


def _names(value: Any) -> list[tuple[int, str]]:
    items = value if isinstance(value, list) else []
    return [(index, item) for index, item in enumerate(items) if isinstance(item, str)]


def _alike(entries: list[_Written]) -> Iterator[tuple[Path, str]]:
    seen: dict[str, str] = {}
    for entry in entries:
        other = seen.setdefault(entry.id.lower(), entry.id)
        if other != entry.id:
            path = ("spec", "subtasks", entry.index, "id")
            yield path, f"the ids {other} and {entry.id} differ only in case: rename one"

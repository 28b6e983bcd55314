"""The chart's values as a table, from values.yaml and its comments.

The comment of a value is above it or behind it. Without a comment, the usual meaning of its name is
used, or the comment of the same value of the first sibling. Knows the lines of YAML, and nothing
about the chart.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CHART = Path("charts") / "afresh"
_USUAL = {
    "enabled": "whether it is created",
    "requests": "as in a container",
    "limits": "as in a container",
    "resources": "as in a container; empty: the defaults",
    "podAnnotations": "additional annotations of the pods",
    "podLabels": "additional labels of the pods",
    "nodeSelector": "as in a pod's spec",
    "tolerations": "as in a pod's spec",
    "topologySpreadConstraints": "as in a pod's spec",
    "priorityClassName": "as in a pod's spec",
    "labels": "additional labels",
    "spec": "merged into the generated spec",
}


class UndescribedValueError(ValueError):
    """A value has no description, and none can be derived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One value: its path as for `--set`, its default as YAML, and its description.

    Without a default it is a map that has a description of its own.
    """

    path: str
    default: str
    meaning: str

    @property
    def place(self) -> str:
        """The path with the name of the sibling replaced, such as `agentClasses.*.image`."""
        parts = self.path.split(".")
        return ".".join((*parts[:-2], "*", parts[-1]))


def render(chart: Path = CHART) -> str:
    """Return a table of all values of a chart. Raises UndescribedValueError naming one, OSError."""
    rows = []
    said: dict[str, str] = {}
    for value in values((chart / "values.yaml").read_text()):
        name = value.path.rpartition(".")[2]
        meaning = value.meaning or _USUAL.get(name, "") or said.get(value.place, "")
        if not meaning and value.default:
            raise UndescribedValueError(f"{value.path} has no comment: write one in values.yaml")
        said.setdefault(value.place, meaning)
        default = f"`{value.default}`" if value.default else ""
        rows.append(f"| `{value.path}` | {default} | {_cell(meaning)} |")
    return "\n".join(["| value | default | meaning |", "|---|---|---|", *rows])


def values(text: str) -> Iterator[Value]:
    """Yield every value of a values.yaml in order; a map on one line is a single value."""
    lines = text.splitlines()
    root = yaml.compose(text)
    if isinstance(root, yaml.MappingNode):
        yield from _below(root, "", lines)


def _below(node: yaml.MappingNode, at: str, lines: list[str]) -> Iterator[Value]:
    for key, value in node.value:
        path = f"{at}.{key.value}".lstrip(".")
        above = _comment_above(lines, key.start_mark.line)
        if isinstance(value, yaml.MappingNode) and not value.flow_style:
            if above:
                yield Value(path=path, default="", meaning=above)
            yield from _below(value, path, lines)
            continue
        behind = _comment_behind(lines[value.end_mark.line], value.end_mark.column)
        yield Value(path=path, default=_default(value), meaning=behind or above)


def _default(node: yaml.Node) -> str:
    value: Any = yaml.safe_load(yaml.serialize(node))
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False)
    return '""' if value == "" else text.removesuffix("\n...\n").strip()


def _comment_above(lines: list[str], number: int) -> str:
    found: list[str] = []
    while number > 0 and lines[number - 1].lstrip().startswith("#"):
        number -= 1
        found.insert(0, lines[number].strip().lstrip("#").strip())
    return " ".join(found)


def _comment_behind(line: str, column: int) -> str:
    return line[column:].strip().removeprefix("#").strip()


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")

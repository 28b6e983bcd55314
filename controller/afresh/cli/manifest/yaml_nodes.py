"""Reads YAML into values that know their lines, within limits. Knows no kind.

The text is anybody's: PyYAML's own composer recurses, expands aliases without a bound and lets a
key be repeated. This reads the parser's events, which it gives one at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from afresh.cli.manifest.yaml_scalars import Scalar, scalar_value

MAX_DEPTH = 100
MAX_VALUES = 50_000
_MERGE = "<<"
_TEXT_TAGS = frozenset({"!", "tag:yaml.org,2002:str"})
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float"))
_TOO_MANY = f"there are more than {MAX_VALUES} values, counting those of aliases each time"
_TOO_DEEP = f"values are nested more than {MAX_DEPTH} deep"


class BadYamlError(Exception):
    """The text is not YAML, or is beyond a limit; the message is a sentence without its end."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


@dataclass(slots=True)
class YamlNode:
    """A value with the line on which it begins, counted from 1."""

    line: int
    value: Any = None
    """The plain value, with that of everything inside."""
    fields: "dict[str, YamlNode]" = field(default_factory=dict)
    key_lines: dict[str, int] = field(default_factory=dict)
    items: "list[YamlNode]" = field(default_factory=list)
    repeated: list[tuple[str, int]] = field(default_factory=list)
    """Keys that are there before, with the lines on which they are there again."""
    size: int = 1
    depth: int = 1

    def take_in(self, inner: "YamlNode") -> None:
        """Count a value that is inside this one. Raises BadYamlError beyond a limit."""
        self.size += inner.size
        self.depth = max(self.depth, inner.depth + 1)
        if self.size > MAX_VALUES:
            raise BadYamlError(inner.line, _TOO_MANY)
        if self.depth > MAX_DEPTH:
            raise BadYamlError(inner.line, _TOO_DEEP)


@dataclass(slots=True)
class _Open:
    """A list or an object whose end has not come yet."""

    node: YamlNode
    anchor: str | None
    key: str | None = None
    merged: list[YamlNode] = field(default_factory=list)


def read_documents(text: str) -> Iterator[YamlNode]:
    """Yield the documents of `text`. Raises BadYamlError at the first that cannot be read."""
    reader = _Reader()
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            document = reader.read(event)
            if document:
                yield document
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BadYamlError(mark.line + 1 if mark else 1, _problem(error, text)) from None
    except yaml.YAMLError as error:
        position = getattr(error, "position", 0)
        line = text.encode()[: int(position or 0)].count(b"\n") + 1
        raise BadYamlError(line, "there is a character that YAML does not allow") from None


class _Reader:
    """Turns events into nodes."""

    def __init__(self) -> None:
        self._stack: list[_Open] = []
        self._anchors: dict[str, YamlNode] = {}
        self._count = 0

    def read(self, event: Any) -> YamlNode | None:
        """Take in one event; return the document that it completes, if any."""
        if isinstance(event, yaml.DocumentStartEvent):
            self._anchors = {}
            self._count = 0
        if not isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            return None
        line = _line(event)
        if isinstance(event, yaml.CollectionEndEvent):
            ended = self._stack.pop()
            _merge(ended)
            return self._placed(ended.node, ended.anchor)
        self._count += 1
        if self._count > MAX_VALUES:
            raise BadYamlError(line, _TOO_MANY)
        if isinstance(event, yaml.AliasEvent):
            return self._placed(self._aliased(str(event.anchor), line), None)
        if isinstance(event, yaml.ScalarEvent):
            return self._placed(
                YamlNode(line=line, value=_scalar(event, line)), event.anchor, event
            )
        if len(self._stack) >= MAX_DEPTH:
            raise BadYamlError(line, _TOO_DEEP)
        value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._stack.append(_Open(YamlNode(line=line, value=value), event.anchor))
        return None

    def _aliased(self, anchor: str, line: int) -> YamlNode:
        if any(item.anchor == anchor for item in self._stack):
            raise BadYamlError(line, f"the alias *{anchor} contains itself")
        if anchor not in self._anchors:
            raise BadYamlError(line, f"the alias *{anchor} has no anchor &{anchor} before it")
        return self._anchors[anchor]

    def _placed(self, node: YamlNode, anchor: str | None, event: Any = None) -> YamlNode | None:
        if anchor:
            self._anchors[anchor] = node
        if not self._stack:
            return node
        outer = self._stack[-1]
        if isinstance(outer.node.value, list):
            outer.node.take_in(node)
            outer.node.items.append(node)
            outer.node.value.append(node.value)
        elif outer.key is None:
            outer.key = _key(node, event)
            outer.node.key_lines.setdefault(outer.key, node.line)
            if outer.key in outer.node.fields:
                outer.node.repeated.append((outer.key, node.line))
        else:
            outer.node.take_in(node)
            if outer.key == _MERGE:
                outer.merged += node.items or [node]
            else:
                outer.node.fields[outer.key] = node
                outer.node.value[outer.key] = node.value
            outer.key = None
        return None


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1


def _merge(ended: _Open) -> None:
    """Add the fields of the objects under `<<` that the object does not have itself."""
    for source in ended.merged:
        if not isinstance(source.value, dict):
            raise BadYamlError(source.line, "what << merges must be an object")
        for key, node in source.fields.items():
            if key not in ended.node.fields:
                ended.node.fields[key] = node
                ended.node.key_lines.setdefault(key, source.key_lines[key])
                ended.node.value[key] = node.value


def _scalar(event: Any, line: int) -> Scalar:
    text: str = event.value
    if event.tag in _TEXT_TAGS or (event.tag is None and not event.implicit[0]):
        return text
    if event.tag is None or event.tag in _PLAIN_TAGS:
        return scalar_value(text)
    raise BadYamlError(line, f"the tag {event.tag} is not known")


def _key(node: YamlNode, event: Any) -> str:
    if isinstance(node.value, dict | list):
        raise BadYamlError(node.line, "a key must be a text, not a list or an object")
    if event is None:
        return str(node.value)
    text: str = event.value
    return text


def _problem(error: yaml.MarkedYAMLError, text: str) -> str:
    said = (error.problem or "it cannot be read").replace("\n", " ")
    mark = error.problem_mark
    if mark and _line_of(text.split("\n"), mark.line)[: mark.column + 1].lstrip(" ")[:1] == "\t":
        return "a tab cannot indent YAML: use blanks"
    where = f" {error.context}" if error.context else ""
    return f"this is not YAML: {said}{where}"


def _line_of(lines: Sequence[str], number: int) -> str:
    return lines[number] if number < len(lines) else ""

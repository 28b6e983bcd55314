"""Reads a package and its class from YAML, and says all that is wrong, each with its line. Pure.

Owns which YAML is accepted: what JSON can hold, of a bounded size and depth.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import ValidationError

from afresh.api.agent_class import AgentClass
from afresh.api.work_package import WorkPackage
from afresh.cli.printable import plain_line

MAX_CHARACTERS = 2 << 20
# With aliases, a short text can stand for any number of values.
MAX_VALUES = 200_000
MAX_DEPTH = 64
KINDS: dict[str, type[WorkPackage] | type[AgentClass]] = {
    "WorkPackage": WorkPackage,
    "AgentClass": AgentClass,
}
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_JSON = frozenset(
    f"tag:yaml.org,2002:{name}"
    for name in ("map", "seq", "str", "int", "float", "bool", "null", "merge")
)

Steps = tuple[int | str, ...]


class _Loader(yaml.SafeLoader):
    """A loader that leaves a date what it is in JSON: a text."""

    yaml_implicit_resolvers = {  # noqa: RUF012  # of the base class
        first: [(tag, regex) for tag, regex in known if not tag.endswith(":timestamp")]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class BadDocumentsError(Exception):
    """The text is not what can be run; `findings` has a line for everything that is wrong."""

    def __init__(self, findings: list[str]) -> None:
        super().__init__("; ".join(findings))
        self.findings = findings


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageDocuments:
    """A package and its class, as they were written, and valid; None: no class was given."""

    package: dict[str, Any]
    agent_class: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class _Document:
    node: yaml.Node
    value: Any

    def line_of(self, place: Steps) -> int:
        """Return the line of a value, or of the nearest one around it that was written."""
        node = self.node
        for step in place:
            found = _child(node, step)
            if found is None:
                break
            node = found
        line: int = node.start_mark.line + 1
        return line


def read_documents(text: str, name: str) -> PackageDocuments:
    """Return what the text has. Raises BadDocumentsError. `name` is the file's, for messages."""
    found: dict[str, _Document] = {}
    findings: list[str] = []
    for document in _parsed(text, name):
        value = document.value
        kind = str(value.get("kind")) if isinstance(value, dict) else ""
        if kind not in KINDS or kind in found:
            findings.append(
                f"{name}:{document.line_of(('kind',))}: kind: one WorkPackage is expected, and at"
                " most one AgentClass; leave out other documents"
            )
            continue
        found[kind] = document
        findings += _wrong(kind, document, name)
    if "WorkPackage" not in found and not findings:
        findings.append(f"{name}:1: kind: there is no WorkPackage; add one")
    findings += [] if findings else _unlike(found, name)
    if findings:
        raise BadDocumentsError(findings)
    agent_class = found.get("AgentClass")
    return PackageDocuments(
        package=found["WorkPackage"].value, agent_class=agent_class.value if agent_class else None
    )


def _parsed(text: str, name: str) -> list[_Document]:
    """Return the documents that are not empty. Raises BadDocumentsError."""
    if len(text) > MAX_CHARACTERS:
        raise BadDocumentsError([f"{name}: the file is too large for a package; shorten it"])
    try:
        loader = _Loader(text)
        documents = []
        while loader.check_node():
            node = loader.get_node()
            if node is None:
                break
            faults = list(_faults(node, name))
            if faults:
                raise BadDocumentsError(faults)
            value = loader.construct_document(node)
            documents += [] if value is None else [_Document(node, value)]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        said = plain_line(error.problem or error.context or "this is not YAML")
        raise BadDocumentsError([f"{name}:{line}: {said}; correct the YAML"]) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadDocumentsError(
            [f"{name}: this is not YAML that can be read; correct it"]
        ) from error
    return documents


def _faults(root: yaml.Node, name: str) -> Iterator[str]:
    """Yield what JSON cannot hold; too many values, and too deep ones."""
    left, values = [(root, 1)], 0
    while left:
        node, depth = left.pop()
        values += 1
        line = f"{name}:{node.start_mark.line + 1}"
        if depth > MAX_DEPTH or values > MAX_VALUES:
            yield f"{line}: the values are nested too deeply, or too many; write them out plainly"
            return
        if node.tag not in _JSON:
            yield f"{line}: the tag {plain_line(node.tag)} is nothing of JSON; leave it out"
        if isinstance(node, yaml.MappingNode):
            yield from _bad_keys(node, name)
            left += [(value, depth + 1) for _, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            left += [(item, depth + 1) for item in node.value]


def _bad_keys(node: yaml.MappingNode, name: str) -> Iterator[str]:
    known: set[str] = set()
    for key, _ in node.value:
        line = f"{name}:{key.start_mark.line + 1}"
        if not isinstance(key, yaml.ScalarNode) or key.tag.rpartition(":")[2] not in (
            "str",
            "merge",
        ):
            yield f"{line}: a key that is not a text; put it in quotation marks"
        elif key.value in known:
            yield f"{line}: {plain_line(key.value)}: the key is there twice; leave out one"
        else:
            known.add(key.value)


def _wrong(kind: str, document: _Document, name: str) -> Iterator[str]:
    """Yield what the API server would refuse of the document."""
    try:
        parsed = KINDS[kind].model_validate(document.value)
    except ValidationError as error:
        places = [item["loc"] for item in error.errors()]
        found = [
            (document.line_of(item["loc"]), item)
            for item in error.errors()
            if not any(_is_within(place, item["loc"]) for place in places)
        ]
        for line, item in sorted(found, key=lambda pair: pair[0]):
            said = plain_line(item["msg"].removeprefix("Value error, "))
            yield f"{name}:{line}: {_path(item['loc']) or kind}: {said}"
        return
    if not _NAME.fullmatch(parsed.metadata.name):
        line = document.line_of(("metadata", "name"))
        yield (
            f"{name}:{line}: metadata.name: a name has lower-case letters, digits and '-', and"
            " begins and ends with a letter or a digit"
        )


def _unlike(found: dict[str, _Document], name: str) -> Iterator[str]:
    """Yield what does not fit together."""
    if "AgentClass" not in found:
        return
    wanted = found["WorkPackage"].value["spec"]["agentClassName"]
    if found["AgentClass"].value["metadata"]["name"] != wanted:
        line = found["WorkPackage"].line_of(("spec", "agentClassName"))
        yield (
            f"{name}:{line}: spec.agentClassName: this is not the name of the AgentClass of the"
            " file; correct one of them, or leave the AgentClass out"
        )


def _child(node: yaml.Node, step: int | str) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        found: yaml.Node = node.value[step]
        return found
    return None


def _is_within(place: Steps, other: Steps) -> bool:
    """Whether what is wrong at `place` makes a value around it wrong, too."""
    return len(place) > len(other) and place[: len(other)] == other


def _path(place: Steps) -> str:
    words = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return "".join(words).removeprefix(".")

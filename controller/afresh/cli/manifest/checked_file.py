"""Checks a file as the API server and the operator will, without them.

The door of this room: a text becomes its objects and everything that is wrong with them.
"""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from afresh.api.crd import KINDS, KindNames, build_crd
from afresh.api.meta import API_GROUP, API_VERSION
from afresh.api.schema import Schema
from afresh.api.work_package import UNKNOWN_DEPENDENCY
from afresh.cli.manifest.dependencies import dependency_faults
from afresh.cli.manifest.findings import (
    ManifestFault,
    Path,
    line_of,
    meant,
    written_path,
    written_value,
)
from afresh.cli.manifest.raw_view import RawView, broken_rules
from afresh.cli.manifest.shape import shape_faults, without_nulls
from afresh.cli.manifest.value_faults import value_faults
from afresh.cli.manifest.yaml_nodes import BadYamlError, YamlNode, read_documents

MAX_BYTES = 4 * 1024 * 1024
_KINDS = {kind.name: kind for kind in KINDS}
_API = f"{API_GROUP}/{API_VERSION}"
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAME = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)
_PARTS = ("apiVersion", "kind", "metadata", "spec", "status")
_METADATA = (
    "name", "namespace", "labels", "annotations", "finalizers", "ownerReferences", "generateName",
    "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
    "deletionGracePeriodSeconds", "managedFields", "selfLink",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestObject:
    """An object of a file, as it is written there."""

    kind: str
    name: str
    manifest: dict[str, Any]
    is_ours: bool
    """Whether it is of a kind of Afresh; of others nothing is checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFile:
    """The objects of a file, and what is wrong with them by line."""

    name: str
    objects: tuple[ManifestObject, ...]
    faults: tuple[ManifestFault, ...]


def check_file(name: str, content: bytes) -> CheckedFile:
    """Return what `content` holds; `name` is the file's, for the faults."""
    objects: list[ManifestObject] = []
    faults: list[ManifestFault] = []

    def add(line: int, path: Path, message: str) -> None:
        faults.append(ManifestFault(name, line, written_path(path), message))

    try:
        for root in read_documents(_decoded(content)):
            for node in _objects(root):
                if node.value is None:
                    continue
                found = list(_document_faults(node))
                for path, message in found:
                    add(line_of(node, path), path, message)
                for line, path, message in _repeated(node, ()):
                    add(line, path, message)
                objects += _object(node)
    except BadYamlError as error:
        add(error.line, (), str(error))
    if not objects and not faults:
        add(1, (), "the file is empty: write a WorkPackage, such as `afresh init` does")
    elif not faults and not any(item.is_ours for item in objects):
        add(1, (), f"no object of {_API} is in the file: see apiVersion and kind")
    unique = dict.fromkeys(sorted(faults, key=lambda fault: fault.line))
    return CheckedFile(name=name, objects=tuple(objects), faults=tuple(unique))


def _decoded(content: bytes) -> str:
    if len(content) > MAX_BYTES:
        raise BadYamlError(1, f"the file is over {MAX_BYTES // 1024**2} MiB: no cluster takes it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadYamlError(line, "the text is not UTF-8: save the file in that encoding") from None


def _objects(root: YamlNode) -> Iterator[YamlNode]:
    """Yield the objects of a document: those of a List, else the one that it is."""
    items = root.fields.get("items")
    if items and root.value.get("kind") == "List":
        yield from items.items
    else:
        yield root


def _object(node: YamlNode) -> list[ManifestObject]:
    manifest = node.value
    if not isinstance(manifest, dict):
        return []
    metadata = manifest.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    kind = str(manifest.get("kind", ""))
    is_ours = manifest.get("apiVersion") == _API and kind in _KINDS
    return [ManifestObject(kind=kind, name=str(name or ""), manifest=manifest, is_ours=is_ours)]


def _document_faults(node: YamlNode) -> Iterator[tuple[Path, str]]:
    data = node.value
    if not isinstance(data, dict):
        yield (), "an object is expected here, with apiVersion, kind, metadata and spec"
        return
    version, kind = data.get("apiVersion"), data.get("kind")
    for field, value in (("apiVersion", version), ("kind", kind)):
        if not isinstance(value, str) or not value:
            yield (field,), "Required value"
            return
    if not str(version).startswith(f"{API_GROUP}/"):
        # "afresh.com/v1" with a kind of ours is a slip; a Secret is simply not ours.
        if kind in _KINDS:
            yield ("apiVersion",), _unsupported(version, [_API])
        return
    if version != _API:
        yield ("apiVersion",), _unsupported(version, [_API])
    elif kind not in _KINDS:
        yield ("kind",), _unsupported(kind, ["WorkPackage", "AgentClass"])
    else:
        yield from _kind_faults(_KINDS[str(kind)], data)


def _unsupported(value: Any, known: list[str]) -> str:
    listed = ", ".join(f'"{item}"' for item in known)
    alike = meant(str(value), known)
    return f"Unsupported value: {written_value(value)}: supported values: {listed}{alike}"


def _kind_faults(kind: KindNames, data: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    # The server takes the status of nobody but the operator.
    data = {key: value for key, value in data.items() if key != "status"}
    for key in data.keys() - set(_PARTS):
        yield (key,), f"unknown field{meant(key, list(_PARTS))}"
    yield from _metadata_faults(data.get("metadata"))
    shapes: list[tuple[Path, str]] = []
    if "spec" in data:
        schema = _spec_schema(kind)
        shapes = list(shape_faults(data["spec"], schema, ("spec",)))
        yield from shapes
        data["spec"] = without_nulls(data["spec"], schema)
    told = {path for path, _ in shapes} | {("metadata",), ("metadata", "name")}
    yield from ((path, said) for path, said in value_faults(kind.model, data) if path not in told)
    for path, message in broken_rules(RawView(kind.model, data, ()), _is_told):
        yield path or ("metadata", "name"), message
    if kind.name == "WorkPackage":
        yield from dependency_faults(data.get("spec"))


def _is_told(message: str) -> bool:
    """Whether the rule is asked for elsewhere, where the ids can be named."""
    return message == UNKNOWN_DEPENDENCY


@functools.cache
def _spec_schema(kind: KindNames) -> Schema:
    version = build_crd(kind)["spec"]["versions"][0]
    schema: Schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return schema


def _metadata_faults(metadata: Any) -> Iterator[tuple[Path, str]]:
    path = ("metadata",)
    if not isinstance(metadata, dict):
        yield path, "Required value: give the object a name with metadata.name"
        return
    for key in metadata.keys() - set(_METADATA):
        yield (*path, key), f"unknown field{meant(key, list(_METADATA))}"
    name, namespace = metadata.get("name"), metadata.get("namespace", "default")
    if name is None:
        yield (*path, "name"), "Required value: give the object a name"
    elif not isinstance(name, str) or not _NAME.fullmatch(name):
        wanted = 'must consist of lower case letters, digits, "-" and "."'
        yield (*path, "name"), f"Invalid value: {written_value(name)}: {wanted}"
    if not isinstance(namespace, str) or not _LABEL.fullmatch(namespace):
        wanted = 'must consist of lower case letters, digits and "-"'
        yield (*path, "namespace"), f"Invalid value: {written_value(namespace)}: {wanted}"


def _repeated(node: YamlNode, path: Path) -> Iterator[tuple[int, Path, str]]:
    for key, line in node.repeated:
        first = node.key_lines[key]
        yield line, (*path, key), f"the key is there twice: see line {first}, and remove one"
    for key, inner in node.fields.items():
        yield from _repeated(inner, (*path, key))
    for index, inner in enumerate(node.items):
        yield from _repeated(inner, (*path, index))

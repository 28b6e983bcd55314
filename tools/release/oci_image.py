"""Reads the content of an image from its OCI archive, layer by layer.

A file that a later layer hides or removes is not in the image, but counts in its size. Must not
know which files are looked for.
"""

import json
import posixpath
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from backports import zstd

_REMOVED = ".wh."
_EMPTIED = ".wh..wh..opq"


class ImageError(Exception):
    """The archive is invalid; the message is one sentence that names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveEntry:
    """A file, directory or link. `content` is None unless the file was wanted."""

    path: str
    kind: bytes
    mode: int
    uid: int
    size: int
    content: bytes | None


@dataclass(slots=True)
class LayerShelf:
    """A cache of layers that have been read, since images share most of their layers.

    `wanted` returns whether the content of the file with a path is kept.
    """

    wanted: Callable[[str], bool]
    layers: dict[str, tuple[ArchiveEntry, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Image:
    """One image: its entries by path without a leading slash, and its run configuration.

    `architecture` is Go's name of the processor, such as amd64.
    """

    architecture: str
    config: dict[str, Any]
    layers: tuple[tuple[ArchiveEntry, ...], ...]

    @property
    def unpacked_bytes(self) -> int:
        """The size of all files of all layers, as unpacked on a node."""
        return sum(entry.size for layer in self.layers for entry in layer)

    @cached_property
    def entries(self) -> dict[str, ArchiveEntry]:
        """The entries that a container of the image sees."""
        seen: dict[str, ArchiveEntry] = {}
        for layer in self.layers:
            # Removals come first: they apply to the layers below, never to their own layer.
            for entry in layer:
                _forget(seen, entry.path)
            seen |= {entry.path: entry for entry in layer if not _is_removal(entry.path)}
        return seen


def read(archive: Path, shelf: LayerShelf) -> Image:
    """Return the image of an archive. Raises ImageError if it has none, or several."""
    with tarfile.open(archive) as tar:
        index = _json(tar, "index.json")
        manifests = index.get("manifests", [])
        if len(manifests) != 1:
            raise ImageError(f"{archive.name} has {len(manifests)} images instead of one.")
        manifest = _json(tar, _blob(manifests[0]))
        layers = tuple(_layer(tar, item, shelf) for item in manifest["layers"])
        described = _json(tar, _blob(manifest["config"]))
        return Image(described["architecture"], described["config"], layers)


def _layer(
    tar: tarfile.TarFile, descriptor: dict[str, Any], shelf: LayerShelf
) -> tuple[ArchiveEntry, ...]:
    digest = descriptor["digest"]
    if digest not in shelf.layers:
        with _open(tar, _blob(descriptor)) as packed:
            media_type = descriptor["mediaType"]
            shelf.layers[digest] = tuple(_entries(packed, media_type, shelf.wanted))
    return shelf.layers[digest]


def _entries(
    packed: IO[bytes], media_type: str, wanted: Callable[[str], bool]
) -> Iterator[ArchiveEntry]:
    if media_type.endswith("+zstd"):
        with zstd.open(packed) as plain, tarfile.open(fileobj=plain, mode="r|") as layer:
            yield from _members(layer, wanted)
        return
    mode = "r|gz" if media_type.endswith("+gzip") else "r|"
    with tarfile.open(fileobj=packed, mode=mode) as layer:  # type: ignore[call-overload]
        yield from _members(layer, wanted)


def _members(layer: tarfile.TarFile, wanted: Callable[[str], bool]) -> Iterator[ArchiveEntry]:
    for member in layer:
        path = member.name.removeprefix("./").strip("/")
        source = layer.extractfile(member) if member.isreg() and wanted(path) else None
        yield ArchiveEntry(
            path=path,
            kind=member.type,
            mode=member.mode,
            uid=member.uid,
            size=member.size if member.isreg() else 0,
            content=source.read() if source else None,
        )


def _is_removal(path: str) -> bool:
    return posixpath.basename(path).startswith(_REMOVED)


def _forget(seen: dict[str, ArchiveEntry], path: str) -> None:
    directory, name = posixpath.split(path)
    if name == _EMPTIED:
        gone, itself = directory, False
    elif name.startswith(_REMOVED):
        gone, itself = posixpath.join(directory, name.removeprefix(_REMOVED)), True
    else:
        return
    for known in [known for known in seen if known.startswith(f"{gone}/")]:
        del seen[known]
    if itself:
        seen.pop(gone, None)


def _blob(descriptor: dict[str, Any]) -> str:
    return f"blobs/{descriptor['digest'].replace(':', '/')}"


def _json(tar: tarfile.TarFile, name: str) -> dict[str, Any]:
    with _open(tar, name) as source:
        found: dict[str, Any] = json.load(source)
    return found


def _open(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    try:
        source = tar.extractfile(name)
    except KeyError:
        source = None
    if source is None:
        raise ImageError(f"{Path(str(tar.name)).name} is not an OCI archive: it has no {name}.")
    return source

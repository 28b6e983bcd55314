"""Finds folders that git takes for a repository by what is in them, without any `.git`.

Pure. Whoever runs git in such a folder has it read the configuration there, and run what that
names. Names are compared as the most careless file system does, which may take two for one.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable

# `commondir` says where the other two are.
_PARTS = frozenset({"head", "objects", "refs", "commondir"})
_SUFFICIENT = (frozenset({"head", "objects", "refs"}), frozenset({"head", "commondir"}))
# What HFS+ passes over in a name.
_SKIPPED = dict.fromkeys(
    (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
)


class BareFolders:
    """Takes in paths, and tells which folders are repositories."""

    def __init__(self) -> None:
        self._found: dict[str, set[str]] = defaultdict(set)

    def add(self, path: str) -> None:
        """Take in a file, a link or a folder."""
        folder, _, name = path.rpartition("/")
        plain = _plain(name)
        if plain in _PARTS:
            self._found[_plain_path(folder)].add(plain)

    def first_with(self, paths: Iterable[str]) -> str | None:
        """Return the folder of the first path that lies in a repository, as the path has it."""
        bare = self._bare()
        if not bare:
            return None
        found = (_innermost(path, bare) for path in paths)
        return next((folder for folder in found if folder is not None), None)

    def _bare(self) -> Collection[str]:
        return {
            folder
            for folder, names in self._found.items()
            if any(enough <= names for enough in _SUFFICIENT)
        }


def _innermost(path: str, bare: Collection[str]) -> str | None:
    while path:
        path = path.rpartition("/")[0]
        if _plain_path(path) in bare:
            return path or "."
    return None


def _plain_path(path: str) -> str:
    return "/".join(map(_plain, path.split("/")))


def _plain(name: str) -> str:
    """Return what HFS+ and NTFS may take a name for."""
    if name.isascii() and name.isalpha():
        return name.lower()
    text = unicodedata.normalize("NFD", name.translate(_SKIPPED)).casefold()
    return text.partition(":")[0].rstrip(". ")

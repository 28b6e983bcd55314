"""Finds bare repositories: folders that git takes for a repository although there is no `.git`.

If a user runs git in such a folder, git reads the configuration there and runs the programs that it
names. Names are compared as the most permissive file system compares them, so that two different
names may be equal. Pure.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable

# The file `commondir` says where `objects` and `refs` are.
_PARTS = frozenset({"head", "objects", "refs", "commondir"})
_SUFFICIENT = (frozenset({"head", "objects", "refs"}), frozenset({"head", "commondir"}))
# Characters that HFS+ ignores in a name.
_SKIPPED = dict.fromkeys(
    (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
)


class BareFolders:
    """Collects paths, and finds the folders among them that are bare repositories."""

    def __init__(self) -> None:
        self._found: dict[str, set[str]] = defaultdict(set)

    def add(self, path: str) -> None:
        """Add the path of a file, a link or a folder."""
        folder, _, name = path.rpartition("/")
        plain = _plain(name)
        if plain in _PARTS:
            self._found[_plain_path(folder)].add(plain)

    def first_with(self, paths: Iterable[str]) -> str | None:
        """Return the bare repository that contains the first such path of `paths`, or None."""
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
    """Return the name in a form that is equal for names that HFS+ or NTFS may confuse."""
    if name.isascii() and name.isalpha():
        return name.lower()
    text = unicodedata.normalize("NFD", name.translate(_SKIPPED)).casefold()
    return text.partition(":")[0].rstrip(". ")

"""Decides whether two lists of globs or paths may match the same file, by comparing their prefixes.

In doubt, they overlap. This module also owns the bound on the paths that a conflict keeps. Pure;
the runner uses it, too.
"""

import re
from collections.abc import Iterable, Sequence

ANY = "**"
MOST_PATHS = 8
LONGEST_PATH = 80
_WILD = re.compile(r"[*?\[]")
# Paths that can be stored and printed everywhere without changes.
_PLAIN = re.compile(r"[\w ./@+=,:-]*", re.ASCII)


def overlap(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether some file may match both lists."""
    begins = [_begin(item) for item in others]
    return any(_meet(_begin(item), begin) for item in some for begin in begins)


def bounded(paths: Iterable[str]) -> tuple[str, ...]:
    """Return a small number of short globs that match at least `paths`.

    Long or unusual paths, and paths beyond the limit, are cut to a prefix with `**`.
    """
    found = sorted({_short(path) for path in paths})
    if len(found) > MOST_PATHS:
        found = sorted({_folder(path) for path in found})
    return tuple(found) if len(found) <= MOST_PATHS and ANY not in found else (ANY,)


def _begin(glob: str) -> tuple[str, bool]:
    """Return the prefix of every match, and whether it is a complete name."""
    wild = _WILD.search(glob)
    return (glob[: wild.start()], False) if wild else (glob.rstrip("/"), True)


def _meet(one: tuple[str, bool], other: tuple[str, bool]) -> bool:
    (short, is_whole), (long, _) = sorted((one, other), key=lambda item: len(item[0]))
    if not long.startswith(short):
        return False
    # A complete name matches itself and, if it is a folder, its content.
    return not is_whole or long == short or long[len(short)] == "/"


def _short(path: str) -> str:
    plain = _PLAIN.match(path)
    begin = (plain[0] if plain else "")[: LONGEST_PATH - len(ANY)]
    if begin == path or path in (begin + ANY, begin + "*"):
        return path
    return begin + ANY


def _folder(path: str) -> str:
    head, slash, _ = path.partition("/")
    return f"{head}/{ANY}" if slash else path

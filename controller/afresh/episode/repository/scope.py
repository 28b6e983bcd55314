"""Which files a subtask may change: globs, and how many may be new.

Pure. In a glob `*` and `?` stay within one folder, `**` crosses folders, `[...]` is a set of
characters, and a glob that names a folder (with or without `/` at its end) means all that is in it.
`[[]` is the bracket itself; so is one that begins no set, as in `[a`, `[]` and `[z-a]`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from afresh.contract.order import Task
from afresh.contract.sentences import with_details
from afresh.core.text import one_line

GITLINK = "160000"
GUIDE = "add guidance and raise the revision, or skip the subtask"
EMBEDDED = f"The agent left an embedded repository; {GUIDE}."
OUTSIDE = f"The agent changed files outside of the subtask's files; widen files, or {GUIDE}."
TOO_MANY = f"The agent added more files than maxNewFiles allows; raise it, or {GUIDE}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One changed path of the tree; `status` is git's letter, modes are git's."""

    path: str
    status: str
    mode: str


def scope_problem(task: Task, changes: Sequence[Change]) -> str | None:
    """Return a sentence naming what is out of the subtask's scope, or None."""
    for change in changes:
        if change.mode == GITLINK and change.status != "D":
            return with_details(EMBEDDED, one_line(change.path))
    outside = sorted(change.path for change in changes if not allowed(task.files, change.path))
    if outside:
        return with_details(OUTSIDE, _some(outside))
    new = sorted(change.path for change in changes if change.status == "A")
    if len(new) > task.max_new_files:
        return with_details(TOO_MANY, _some(new))
    return None


def allowed(globs: Iterable[str], path: str) -> bool:
    """Whether `path` matches one of the globs; no globs allow everything."""
    patterns = tuple(globs)
    return not patterns or any(_matches(glob, path) for glob in patterns)


def _some(paths: Sequence[str]) -> str:
    return ", ".join(map(one_line, paths[:5])) + (" and others" if len(paths) > 5 else "")


def _matches(glob: str, path: str) -> bool:
    """Walk over the glob once, with all the places of the path that it can have come to.

    A regular expression would try every way to share the path out among the wildcards.
    """
    reached = {0}
    for token in _tokens(glob):
        reached = _after(token, path, reached)
        if not reached:
            return False
    return any(at == len(path) or path[at] == "/" for at in reached)


_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]/]*\]|[^*?\[]+|.", re.DOTALL)
_MEMBER = re.compile(r"(.)-(.)|(.)", re.DOTALL)


@cache
def _tokens(glob: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(glob.rstrip("/")))


def _after(token: str, path: str, reached: set[int]) -> set[int]:
    """Return the places after what `token` stands for, wherever it begins."""
    first = min(reached)
    match token:
        case "**":
            return set(range(first, len(path) + 1))
        case "**/":
            return reached | {at + 1 for at in range(first, len(path)) if path[at] == "/"}
        case "*":
            return _within_a_name(path, reached)
        case "?":
            return {at + 1 for at in reached if path[at : at + 1] not in ("", "/")}
    members = _set(token) if len(token) > 1 and token[0] == "[" else None
    if members:
        return {at + 1 for at in reached if members.match(path, at)}
    return {at + len(token) for at in reached if path.startswith(token, at)}


def _within_a_name(path: str, reached: set[int]) -> set[int]:
    places: set[int] = set()
    for start in sorted(reached):
        if start not in places:
            end = path.find("/", start)
            places.update(range(start, (len(path) if end < 0 else end) + 1))
    return places


@cache
def _set(token: str) -> re.Pattern[str] | None:
    """Return the characters that a bracket means; None: it has none, or a range runs backwards."""
    inverted = "^" if token[1] == "!" else ""
    members = _MEMBER.findall(token[1 + len(inverted) : -1])
    if not members or any(first > last for first, last, _ in members):
        return None
    body = (
        re.escape(single) if single else f"{re.escape(first)}-{re.escape(last)}"
        for first, last, single in members
    )
    return re.compile(f"(?!/)[{inverted}{''.join(body)}]")

"""Which files a subtask may change, given as globs, and how many new ones it may add. Pure.

In a glob, `*` and `?` match within one folder, `**` matches across folders, and `[...]` is a set of
characters. A glob that ends in `/` or `**` matches everything in the folder; so does a name without
wildcards, if it is a folder when the work begins. `[[]` matches a bracket; so does a bracket that
begins no set, as in `[a`, `[]` and `[z-a]`.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from afresh.contract.order import Task
from afresh.contract.sentences import with_details
from afresh.contract.text import one_line

GITLINK = "160000"
GUIDE = "add guidance and raise the revision, or skip the subtask"
EMBEDDED = f"The agent left an embedded repository; {GUIDE}."
OUTSIDE = f"The agent changed files outside of the subtask's files; extend files, or {GUIDE}."
TOO_MANY = f"The agent added more files than maxNewFiles allows; raise it, or {GUIDE}."


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One changed path of the tree; `status` is git's letter, `mode` git's mode in octal."""

    path: str
    status: str
    mode: str


def scope_problem(
    task: Task, changes: Sequence[FileChange], folders: Collection[str] = ()
) -> str | None:
    """Return a sentence that names what is out of the subtask's scope, or None.

    `folders` are the globs of `literal_names` that name a folder of the commit at the start.
    """
    for change in changes:
        if change.mode == GITLINK and change.status != "D":
            return with_details(EMBEDDED, one_line(change.path))
    outside = sorted(item.path for item in changes if not allowed(task.files, item.path, folders))
    if outside:
        return with_details(OUTSIDE, _some(outside))
    new = sorted(change.path for change in changes if change.status == "A")
    if len(new) > task.max_new_files:
        return with_details(TOO_MANY, _some(new))
    return None


def allowed(globs: Iterable[str], path: str, folders: Collection[str] = ()) -> bool:
    """Whether `path` matches one of the globs; an empty list of globs allows everything."""
    patterns = tuple(globs)
    return not patterns or any(_matches(glob, path, folders) for glob in patterns)


def literal_names(globs: Iterable[str]) -> Mapping[str, str]:
    """Return the path that each glob without wildcards names, by glob."""
    return {glob: "".join(map(_letters, _tokens(glob))) for glob in globs if _is_literal(glob)}


def _is_literal(glob: str) -> bool:
    return all(_letters(token) for token in _tokens(glob))


def _letters(token: str) -> str:
    """Return the only text that a token matches; empty if it matches several."""
    if token == "[[]":
        return "["
    is_set = len(token) > 1 and token[0] == "[" and _set(token)
    return "" if token in ("**/", "**", "*", "?") or is_set else token


def _some(paths: Sequence[str]) -> str:
    return ", ".join(map(one_line, paths[:5])) + (" and others" if len(paths) > 5 else "")


def _matches(glob: str, path: str, folders: Collection[str]) -> bool:
    """Process the glob once, with the set of all positions of the path that it may have reached.

    A regular expression would try every way to divide the path among the wildcards.
    """
    reached = {0}
    for token in _tokens(glob):
        reached = _after(token, path, reached)
        if not reached:
            return False
    is_below = any(at < len(path) and path[at] == "/" for at in reached)
    if glob.endswith("/"):
        return is_below
    return len(path) in reached or (is_below and glob in folders)


_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]/]*\]|[^*?\[]+|.", re.DOTALL)
_MEMBER = re.compile(r"(.)-(.)|(.)", re.DOTALL)


@cache
def _tokens(glob: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(glob.rstrip("/")))


def _after(token: str, path: str, reached: set[int]) -> set[int]:
    """Return the positions after `token` has matched from any of the positions `reached`."""
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
    """Return the pattern of a bracket's set; None if it is empty or a range is reversed."""
    inverted = "^" if token[1] == "!" else ""
    members = _MEMBER.findall(token[1 + len(inverted) : -1])
    if not members or any(first > last for first, last, _ in members):
        return None
    body = (
        re.escape(single) if single else f"{re.escape(first)}-{re.escape(last)}"
        for first, last, single in members
    )
    return re.compile(f"(?!/)[{inverted}{''.join(body)}]")

"""Which files a subtask may change: globs, and how many may be new.

Pure. In a glob `*` and `?` stay within one folder, `**` crosses folders, `[...]` is a set of
characters, and a glob that names a folder (with or without `/` at its end) means all that is in it.
`[[]` is the bracket itself; so is one that begins no set, as in `[a` and `[z-a]`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from afresh.contract.order import Task
from afresh.core.text import one_line

GITLINK = "160000"


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
            return f"The agent left an embedded repository at {one_line(change.path)}."
    outside = sorted(change.path for change in changes if not allowed(task.files, change.path))
    if outside:
        return f"The agent changed files outside of the subtask's files: {_some(outside)}."
    new = sorted(change.path for change in changes if change.status == "A")
    if len(new) > task.max_new_files:
        return f"The agent added more files than maxNewFiles allows: {_some(new)}."
    return None


def allowed(globs: Iterable[str], path: str) -> bool:
    """Whether `path` matches one of the globs; no globs allow everything."""
    patterns = tuple(globs)
    return not patterns or any(_compiled(glob).fullmatch(path) for glob in patterns)


def _some(paths: Sequence[str]) -> str:
    return ", ".join(map(one_line, paths[:5])) + (" and others" if len(paths) > 5 else "")


@cache
def _compiled(glob: str) -> re.Pattern[str]:
    found = _TOKEN.findall(glob.rstrip("/"))
    tokens = [
        token
        for token, last in zip(found, ["", *found], strict=False)
        if token != "**/" or last != "**/"
    ]
    pattern, ends = "", list[int]()
    for at, token in enumerate(tokens):
        pattern += ")" * ends.count(at)
        end = _settled_at(tokens, at)
        if end:
            ends.append(end)
            pattern += "(?>"
        pattern += _piece(token)
    return re.compile(f"{pattern}(?:/.*)?", re.DOTALL)


def _settled_at(tokens: Sequence[str], at: int) -> int | None:
    """Return where a wildcard begins that makes up for any choice of the one at `at`.

    Whatever follows there can be reached from the first place that fits; to try others would take
    time that grows with the power of the number of wildcards.
    """
    if tokens[at] not in _WILDCARDS:
        return None
    wide = [item for item in _WILDCARDS if tokens[at] == "*" or item != "*"]
    end = next((n for n in range(at + 1, len(tokens)) if tokens[n] in wide), None)
    # In the midst of a name, the other begins where this one leaves it.
    return None if end and tokens[end] == "**/" and tokens[end - 1] != "/" else end


_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]/]*\]|.", re.DOTALL)
# Each takes as little as it can.
_WILDCARDS = {"**/": "(?:.*?/)??", "**": ".*?", "*": "[^/]*?"}
_MEMBER = re.compile(r"(.)-(.)|(.)", re.DOTALL)


def _piece(token: str) -> str:
    if token in _WILDCARDS:
        return _WILDCARDS[token]
    if token == "?":
        return "[^/]"
    return (_set(token) if len(token) > 1 else None) or re.escape(token)


def _set(token: str) -> str | None:
    """Return the set of characters that a bracket means; None: one of its ranges runs backwards."""
    inverted = "^" if token[1] == "!" else ""
    members = _MEMBER.findall(token[1 + len(inverted) : -1])
    if any(first > last for first, last, _ in members):
        return None
    body = (
        re.escape(single) if single else f"{re.escape(first)}-{re.escape(last)}"
        for first, last, single in members
    )
    return f"(?!/)[{inverted}{''.join(body)}]"

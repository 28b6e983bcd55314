"""Hints about parts of a change that a reviewer should look at (S4-12). No hint decides anything.

Only added lines are examined, by patterns that many languages share. The work is bounded: only the
first files of a change are examined, and no large ones.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from afresh.contract.text import one_line
from afresh.episode.git.faults import GitError
from afresh.episode.git.repository import GitRepository
from afresh.episode.git.snapshot import Snapshot

MOST_FILES = 50
MOST_LINES = 10_000
MOST_WARNINGS = 5
LARGEST_FILE = "64k"
LIMIT_SECONDS = 5.0
LINE_LENGTH = 300
NAME_LENGTH = 60

_TYPE = r"(?:class|interface|trait|protocol|struct|record|object|type)"
VAGUE_NAME = re.compile(rf"\b{_TYPE}\s+([A-Z]\w*(?:Service|Manager))\b")
INTERFACE = re.compile(
    r"\b(?:interface|trait|protocol|abstract\s+class)\s+([A-Za-z]\w*)"
    r"|\btype\s+([A-Za-z]\w*)\s+interface\b"
    r"|\bclass\s+([A-Za-z]\w*)\s*\([^)]{0,100}\b(?:ABC|Protocol|ABCMeta)\b"
)
_ONE = r"(?:\"[^\",]*\"|'[^',]*')"
WORD = re.compile(r"\w+")
SINGLE_CHOICE = re.compile(
    rf"\bchoices\s*[=:]\s*[\[(]\s*{_ONE}\s*,?\s*[\])]"
    rf"|\bChoice\(\s*[\[(]\s*{_ONE}\s*,?\s*[\])]"
    rf"|[\"']?\benum[\"']?\s*:\s*\[\s*[^,\[\]]+\]"
)
_NO_SOURCE = re.compile(r"\.(?:md|rst|txt|adoc|lock)$|(?:^|/)(?:tests?|docs)/", re.IGNORECASE)


def look_at(git: GitRepository, snapshot: Snapshot) -> tuple[str, ...]:
    """Return a sentence for each hint in the changes of `snapshot`. Never raises."""
    paths = [item.path for item in snapshot.changes if item.status in "ADM"]
    paths = [path for path in paths if not _NO_SOURCE.search(path)]
    if not paths:
        return ()
    try:
        diff = git.run(
            # Larger files are treated as binary, and so have no lines.
            *("-c", f"core.bigFileThreshold={LARGEST_FILE}", "-c", "core.quotePath=false"),
            *("diff-tree", "-r", "-p", "--unified=0", "--no-renames", "--no-color", "--no-prefix"),
            *("--no-ext-diff", "--no-textconv", snapshot.head, snapshot.tree, "--"),
            *(f":(literal){path}" for path in paths[:MOST_FILES]),
            index=git.git_dir / "none",  # without this the agent's attributes apply
            timeout=LIMIT_SECONDS,
        )
    except (GitError, OSError):
        return ()
    return red_flags(diff.decode(errors="replace"))


def red_flags(diff: str) -> tuple[str, ...]:
    """Return a sentence for each hint in `diff`, a diff of git without path prefixes."""
    before = {line.strip() for _, line in _lines(diff, "-")}
    lines = [pair for pair in _lines(diff, "+") if pair[1].strip() not in before][:MOST_LINES]
    found = (*_vague_names(lines), *_bare_interfaces(lines), *_single_choices(lines))
    return tuple(dict.fromkeys(found))[:MOST_WARNINGS]


def _lines(diff: str, sign: str) -> Iterator[tuple[str, str]]:
    """Yield (path, line) of the added or the removed lines, without their sign."""
    path, is_head = "", True
    for line in diff.split("\n"):
        if line.startswith("diff --git "):
            is_head = True
        elif line.startswith("@@ "):
            is_head = False
        elif is_head and line.startswith("+++ "):
            path = line.removeprefix("+++ ")
        elif not is_head and line.startswith(sign):
            yield path, line[1:LINE_LENGTH]


def _vague_names(lines: Sequence[tuple[str, str]]) -> Iterator[str]:
    for path, line in lines:
        if match := VAGUE_NAME.search(line):
            yield f"A new type is called {_short(match[1])} in {_short(path)}: what does it do?"


def _bare_interfaces(lines: Sequence[tuple[str, str]]) -> Iterator[str]:
    declared = [
        (path, next(filter(None, match.groups())))
        for path, line in lines
        if (match := INTERFACE.search(line))
    ]
    times_declared = Counter(name for _, name in declared)
    times_named = Counter(word for _, line in lines for word in WORD.findall(line))
    for path, name in declared:
        if times_named[name] <= times_declared[name]:
            yield f"Nothing new uses or implements the interface {_short(name)} in {_short(path)}."


def _single_choices(lines: Sequence[tuple[str, str]]) -> Iterator[str]:
    for path, line in lines:
        if SINGLE_CHOICE.search(line):
            yield f"A setting in {_short(path)} has a single choice: is it needed?"


def _short(text: str) -> str:
    return one_line(text)[:NAME_LENGTH]

"""The branch's own commits: what earlier episodes of the package have finished.

Owns the trailers: writing them into a message and reading them back. Runs one `git log`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from afresh.contract.order import Order, Task
from afresh.core.text import one_line
from afresh.episode.git import Git

PACKAGE = "Afresh-Package"
SUBTASK = "Afresh-Subtask"
REVISION = "Afresh-Revision"
FILES = "Afresh-Files"
PLAN = "Afresh-Plan"
FILES_NAMED = 20
MOST_COMMITS = 1000
_TRAILER = re.compile(r"([A-Za-z][A-Za-z-]*): (.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit with its message taken apart."""

    id: str
    date: int
    subject: str
    body: str = ""
    trailers: dict[str, str] = field(default_factory=dict)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it changed, as far as it names them."""
        return tuple(name for name in self.trailers.get(FILES, "").split(", ") if name)


def message(order: Order, task: Task, summary: str, files: Sequence[str]) -> str:
    """Return the commit message for a subtask; trailers are its last paragraph."""
    named = [name for name in files if ", " not in name and name and name == one_line(name)]
    trailers = {
        PACKAGE: order.package,
        SUBTASK: task.id,
        REVISION: str(task.revision),
        **({FILES: ", ".join(named[:FILES_NAMED])} if named else {}),
    }
    paragraphs = [
        one_line(task.id if task.title in ("", task.id) else f"{task.id}: {task.title}"),
        summary.strip(),
        "\n".join(f"{key}: {value}" for key, value in trailers.items()),
    ]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph) + "\n"


def plan_message(order: Order, digest: str) -> str:
    """Return the message of a commit that changes the plan and makes no subtask done."""
    return f"Plan\n\n{PACKAGE}: {order.package}\n{PLAN}: {digest}\n"


def read_commits(git: Git, *revisions: str, most: int = MOST_COMMITS) -> tuple[Commit, ...]:
    """Return the commits of `git log`, newest first, as far as they have been fetched."""
    log = git.run("log", "-z", f"-n{most}", "--format=%H %ct%n%B", *revisions, "--")
    return tuple(_parse(entry) for entry in log.decode(errors="replace").split("\0") if entry)


def find_done(commits: Iterable[Commit], order: Order, task: Task) -> Commit | None:
    """Return the newest commit that finished this subtask at the wanted revision or a later one."""
    for commit in commits:
        trailers = commit.trailers
        if (trailers.get(PACKAGE), trailers.get(SUBTASK)) != (order.package, task.id):
            continue
        revision = trailers.get(REVISION, "")
        if revision.isdecimal() and int(revision) >= task.revision:
            return commit
    return None


def _parse(entry: str) -> Commit:
    first, _, text = entry.partition("\n")
    identity, _, date = first.partition(" ")
    paragraphs = text.strip().split("\n\n")
    matches = [_TRAILER.fullmatch(line) for line in paragraphs[-1].splitlines()]
    trailers = {match[1]: match[2] for match in matches if match}
    if len(paragraphs) == 1 or not all(matches):
        trailers = {}
    return Commit(
        id=identity,
        date=int(date),
        subject=paragraphs[0],
        body="\n\n".join(paragraphs[1:-1] if trailers else paragraphs[1:]),
        trailers=trailers,
    )

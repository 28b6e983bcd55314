"""The branch's own commits, which show what earlier episodes of the package have finished.

Owns the trailers: writes them into a message and reads them back. Runs one `git log`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from afresh.contract.order import Order, PlanLine, Task
from afresh.contract.text import one_line
from afresh.contract.words import Marker
from afresh.episode.git.repository import GitRepository

PACKAGE = "Afresh-Package"
SUBTASK = "Afresh-Subtask"
REVISION = "Afresh-Revision"
FILES = "Afresh-Files"
PLAN = "Afresh-Plan"
MARKED = "Afresh-Marked"
FILES_NAMED = 20
MOST_COMMITS = 1000
_UNDONE = (Marker.NEEDS_REVIEW, Marker.SKIPPED)
_TRAILER = re.compile(r"([A-Za-z][A-Za-z-]*): (.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit with its message split into parts; `parent` is its first parent, or empty."""

    id: str
    date: int
    subject: str
    parent: str = ""
    body: str = ""
    trailers: dict[str, str] = field(default_factory=dict)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that its trailer names as changed."""
        return tuple(name for name in self.trailers.get(FILES, "").split(", ") if name)


def message(order: Order, task: Task, summary: str, files: Sequence[str]) -> str:
    """Return the commit message for a subtask; the trailers are its last paragraph."""
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


def plan_message(order: Order, digest: str, marked: PlanLine | None = None) -> str:
    """Return the message of a commit that changes the plan and finishes no subtask.

    `marked` is the line whose marker changes. It has a trailer of its own, different from that of a
    finished subtask.
    """
    trailers = {PACKAGE: order.package, PLAN: digest}
    if marked:
        trailers |= {MARKED: f"{marked.id} {marked.marker}", REVISION: str(marked.revision)}
    return "Plan\n\n" + "".join(f"{key}: {value}\n" for key, value in trailers.items())


def read_commits(
    git: GitRepository, *revisions: str, most: int = MOST_COMMITS
) -> tuple[Commit, ...]:
    """Return the fetched commits that `git log` lists for `revisions`, newest first."""
    log = git.run("log", "-z", f"-n{most}", "--format=%H %ct %P%n%B", *revisions, "--")
    return tuple(_parse(entry) for entry in log.decode(errors="replace").split("\0") if entry)


def find_done(commits: Iterable[Commit], order: Order, task: Task | PlanLine) -> Commit | None:
    """Return the newest commit that finished this subtask at its revision or a later one."""
    for commit in commits:
        named = commit.trailers.get(SUBTASK) == task.id
        if named and _holds(commit, order, task.revision):
            return commit
    return None


def is_of_another_namespace(commits: Sequence[Commit], order: Order) -> bool:
    """Whether a package of another namespace has committed to the branch.

    `commits` are the branch's own, newest first. Commits that a person merged into the branch do
    not count.
    """
    by_id = {commit.id: commit for commit in commits}
    ours = order.package.partition("/")[0]
    commit = commits[0] if commits else None
    while commit:
        owner = commit.trailers.get(PACKAGE, "")
        if owner and owner.partition("/")[0] != ours:
            return True
        commit = by_id.get(commit.parent)
    return False


def caught_up(order: Order, commits: Sequence[Commit]) -> tuple[PlanLine, ...]:
    """Return the Order's plan, updated with commits that others pushed since it was written.

    A line that is not pending stays unchanged: the Order has its result already.
    """
    return tuple(
        replace(line, marker=_marker(commits, order, line))
        if line.marker is Marker.PENDING
        else line
        for line in order.plan
    )


def _marker(commits: Sequence[Commit], order: Order, line: PlanLine) -> Marker:
    if find_done(commits, order, line):
        return Marker.DONE
    for commit in commits:
        name, _, marker = commit.trailers.get(MARKED, "").partition(" ")
        if name == line.id and marker in _UNDONE and _holds(commit, order, line.revision):
            return Marker(marker)
    return line.marker


def _holds(commit: Commit, order: Order, wanted: int) -> bool:
    """Whether a commit is this package's, and its revision is `wanted` or a later one."""
    revision = commit.trailers.get(REVISION, "")
    is_ours = commit.trailers.get(PACKAGE) == order.package
    return is_ours and revision.isdecimal() and int(revision) >= wanted


def _parse(entry: str) -> Commit:
    first, _, text = entry.partition("\n")
    identity, date, *parents = first.split()
    paragraphs = text.strip().split("\n\n")
    matches = [_TRAILER.fullmatch(line) for line in paragraphs[-1].splitlines()]
    trailers = {match[1]: match[2] for match in matches if match}
    if len(paragraphs) == 1 or not all(matches):
        trailers = {}
    return Commit(
        id=identity,
        date=int(date),
        subject=paragraphs[0],
        parent=parents[0] if parents else "",
        body="\n\n".join(paragraphs[1:-1] if trailers else paragraphs[1:]),
        trailers=trailers,
    )

"""From the Order and what has been fetched to the brief.

Owns which facts an agent is given: those that stand on the branch, in the order of the plan.
"""

from pathlib import Path
from urllib.parse import urlsplit

from afresh.contract.order import Order, Task
from afresh.core.brief import BriefParts, Fact, write_brief
from afresh.episode.history import PACKAGE, SUBTASK, Commit
from afresh.episode.prepare import Start

POINTERS = ("AGENTS.md", "specs/")


def brief_for(order: Order, task: Task, start: Start, worktree: Path) -> str:
    """Return the brief for `task`. `worktree` must be as laid out, with no agent in it yet."""
    return write_brief(
        BriefParts(
            goal=order.goal,
            repository=_name(order.repository.url),
            branch=order.repository.branch,
            task=task,
            guidance=order.guidance,
            plan=order.plan,
            facts=_facts(order, start.commits),
            pointers=tuple(name for name in POINTERS if _is_there(worktree, name)),
        )
    )


def _facts(order: Order, commits: tuple[Commit, ...]) -> tuple[Fact, ...]:
    newest: dict[str, Commit] = {}
    for commit in commits:
        if commit.trailers.get(PACKAGE) == order.package:
            newest.setdefault(commit.trailers.get(SUBTASK, ""), commit)
    return tuple(
        Fact(
            id=line.id,
            title=line.title,
            summary=newest[line.id].body,
            files=newest[line.id].files,
        )
        for line in order.plan
        if line.id in newest
    )


def _name(url: str) -> str:
    path = urlsplit(url).path if "://" in url else url.rpartition(":")[2]
    return path.strip("/").removesuffix(".git")


def _is_there(worktree: Path, name: str) -> bool:
    path = worktree / name.rstrip("/")
    if path.is_symlink():
        return False
    return path.is_dir() if name.endswith("/") else path.is_file()

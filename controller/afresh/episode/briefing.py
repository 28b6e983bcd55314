"""Builds the brief from the Order and the fetched branch.

Owns which facts an agent is given: those on the branch, in the order of the plan. The Order's
markers are not used, because they show how other episodes ended.
"""

from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from afresh.contract import plan_file
from afresh.contract.brief import BriefParts, Fact, write_brief
from afresh.contract.order import Order, PlanLine, Task
from afresh.contract.words import Marker
from afresh.episode.git.fetching import BranchStart
from afresh.episode.git.history import PACKAGE, SUBTASK, Commit

POINTERS = ("AGENTS.md", "specs/")


def plan_on_branch(order: Order, start: BranchStart, text: str) -> tuple[PlanLine, ...]:
    """Return the Order's plan with the markers that the branch gives to it at `start`.

    `text` is the plan file there. It counts only if the package has committed on the branch:
    otherwise it is what another package has left behind. A running subtask is a pending one.
    """
    done = {commit.trailers.get(SUBTASK) for commit in _own(order, start.commits)}
    markers = dict.fromkeys(done, Marker.DONE) | (_markers(text) if done else {})
    return tuple(replace(line, marker=markers.get(line.id, Marker.PENDING)) for line in order.plan)


def planned(order: Order, task: Task, marker: Marker) -> str:
    """Return the plan of the Order with this subtask's marker."""
    text = plan_file.render(plan_file.Plan(goal=order.goal, lines=order.plan))
    return plan_file.with_marker(text, task.id, marker)


def with_markers_of(text: str, order: Order) -> Order:
    """Return the Order with the markers of a plan file; other lines stay as they are."""
    markers = _markers(text)
    plan = tuple(replace(line, marker=markers.get(line.id, line.marker)) for line in order.plan)
    return replace(order, plan=plan)


def brief_for(
    order: Order, task: Task, start: BranchStart, plan: tuple[PlanLine, ...], worktree: Path
) -> str:
    """Return the brief for `task`. `worktree` must be as laid out, with no agent in it yet."""
    return write_brief(
        BriefParts(
            goal=order.goal,
            repository=_name(order.repository.url),
            branch=order.repository.branch,
            task=task,
            guidance=order.guidance,
            plan=plan,
            facts=_facts(order, task, start.commits),
            pointers=tuple(name for name in POINTERS if _is_there(worktree, name)),
            submodules=tuple(item.path for item in order.repository.submodules),
        )
    )


def _facts(order: Order, task: Task, commits: tuple[Commit, ...]) -> tuple[Fact, ...]:
    """What other subtasks have done. This subtask is left out: that would be history."""
    newest: dict[str, Commit] = {}
    for commit in _own(order, commits):
        newest.setdefault(commit.trailers.get(SUBTASK, ""), commit)
    titles = {line.id: line.title for line in order.plan}
    return tuple(
        Fact(
            id=name,
            title=titles[name],
            commit=commit.id,
            summary=commit.body,
            files=commit.files,
        )
        for name, commit in newest.items()
        if name in titles and name != task.id
    )


def _own(order: Order, commits: tuple[Commit, ...]) -> list[Commit]:
    return [commit for commit in commits if commit.trailers.get(PACKAGE) == order.package]


def _markers(text: str) -> dict[str, Marker]:
    return {
        line.id: Marker.PENDING if line.marker is Marker.RUNNING else line.marker
        for line in plan_file.parse(text).lines
    }


def _name(url: str) -> str:
    path = urlsplit(url).path if "://" in url else url.rpartition(":")[2]
    return path.strip("/").removesuffix(".git")


def _is_there(worktree: Path, name: str) -> bool:
    path = worktree / name.rstrip("/")
    if path.is_symlink():
        return False
    return path.is_dir() if name.endswith("/") else path.is_file()

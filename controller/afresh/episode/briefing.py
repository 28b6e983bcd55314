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
    """Return the Order's plan with the markers that the branch shows at `start`.

    `text` is the plan file there. It is used only if the package has commits on the branch:
    otherwise another package left it behind. A subtask that is marked as running becomes pending.
    """
    done = {commit.trailers.get(SUBTASK) for commit in _own(order, start.commits)}
    markers = dict.fromkeys(done, Marker.DONE) | (_markers(text) if done else {})
    return tuple(replace(line, marker=markers.get(line.id, Marker.PENDING)) for line in order.plan)


def planned(order: Order, task: Task, marker: Marker) -> str:
    """Return the text of the Order's plan file, with `marker` on the line of `task`."""
    text = plan_file.render(plan_file.Plan(goal=order.goal, lines=order.plan))
    return plan_file.with_marker(text, task.id, marker)


def with_markers_of(text: str, order: Order) -> Order:
    """Return the Order with the markers of a plan file; lines that it lacks stay unchanged."""
    markers = _markers(text)
    plan = tuple(replace(line, marker=markers.get(line.id, line.marker)) for line in order.plan)
    return replace(order, plan=plan)


def brief_for(
    order: Order, task: Task, start: BranchStart, plan: tuple[PlanLine, ...], worktree: Path
) -> str:
    """Return the brief for `task`.

    `worktree` must be laid out already, and no agent may have run in it yet.
    """
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
    """Return what other subtasks have done. This subtask's own commits would be history."""
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

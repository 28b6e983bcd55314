"""The brief: everything that an agent is given to read, as one Markdown text (design, section 5).

This module enforces the information boundary (S1): the same parts give the same bytes, every
sentence is in the present tense, and no sentence tells who worked here before, how often, or with
what result. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from afresh.contract.history_words import without_history
from afresh.contract.order import PlanLine, Task
from afresh.contract.text import one_line
from afresh.contract.words import Checkout, Marker

FACTS_LENGTH = 2000
SUMMARY_LENGTH = 300
FILES_LENGTH = 600
COMMIT_LENGTH = 10
ANY_FILE = "Any file that the task needs."

OUTBOX = """\
## What else you may write
Folder `.afresh/outbox/`, plain Markdown, a few lines each. Nothing else under `.afresh/` counts.
- `summary.md`: one or two lines, in the present tense, on what now exists. Always.
- `blocked.md`: what a person must decide. Then stop.
- `discovery.md`: facts about this code base that others need.
- `ideas.md`: problems and improvements outside this task. Leave those as they are.
- `unchanged.md`: why the task needs no change, if it needs none.
"""
RULES = """\
## Rules
NEVER
- change files other than those listed above, or weaken a test to make it pass;
- commit, push, switch branches, or ask questions and wait: nobody answers;
- guess where a person must decide: security and authentication, breaking a public interface,
  migrating data, or code whose speed is critical. Write `blocked.md`, say what to decide, stop.
ALWAYS
- read the code that you change, and follow its conventions;
- make the smallest change that completes the task, with its tests;
- run the acceptance command, and finish only when it passes.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """The contribution of a finished subtask to the branch; `commit` is its id."""

    id: str
    title: str
    commit: str = ""
    summary: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefParts:
    """The inputs of a brief. `facts` are sorted, the newest first; `pointers` are existing files.

    `submodules` are the folders of the submodules in the checkout.
    """

    goal: str
    repository: str
    branch: str
    task: Task
    guidance: tuple[str, ...] = ()
    plan: tuple[PlanLine, ...] = ()
    facts: tuple[Fact, ...] = ()
    pointers: tuple[str, ...] = ()
    submodules: tuple[str, ...] = ()


def write_brief(parts: BriefParts) -> str:
    """Return the brief."""
    sections = (
        _task(parts),
        _files(parts),
        _direction((*parts.guidance, *parts.task.guidance)),
        facts_block(parts),
        _acceptance(parts.task),
        OUTBOX,
        RULES,
    )
    return "\n".join(section for section in sections if section)


def facts_block(parts: BriefParts) -> str:
    """Return the facts about the branch, in at most 2,000 characters; the last ones are cut first.

    The next task and the progress come first, then the acceptance commands, the changed files, and
    the commit and summary of each finished subtask, the newest first (S3-4, S3-5, C1).
    """
    sections = [
        _next(parts),
        _progress(parts),
        _acceptance_state(parts),
        _changed(parts.facts),
        *(_done(fact) for fact in parts.facts),
    ]
    block = "## Facts about the branch\n"
    for section in sections:
        if len(block) + len(section) > FACTS_LENGTH:
            break
        block += section
    return block


def _task(parts: BriefParts) -> str:
    task = parts.task
    head = (
        f"You work in the repository {parts.repository}, on the branch {parts.branch}.\n"
        f"The goal of the work as a whole: {one_line(parts.goal)}\n"
    )
    read = f"Read first: {', '.join(parts.pointers)}.\n" if parts.pointers else ""
    return f"{head}{read}\n# {_titled(task)}\n{task.prompt.strip()}\n"


def _titled(task: Task) -> str:
    return one_line(task.id if task.title == task.id else f"{task.id} {task.title}")


def _files(parts: BriefParts) -> str:
    task = parts.task
    allowed = "".join(f"- {one_line(glob)}\n" for glob in task.files) or f"{ANY_FILE}\n"
    fixed = ", ".join(map(one_line, parts.submodules))
    return f"## Files you may change\n{allowed}At most {task.max_new_files} of them new.\n" + (
        f"Not these, which are submodules: {fixed}.\n" if fixed else ""
    )


def _direction(guidance: Sequence[str]) -> str:
    if not guidance:
        return ""
    return "## Direction\n" + "".join(f"- {one_line(item)}\n" for item in guidance)


def _next(parts: BriefParts) -> str:
    ids = [line.id for line in parts.plan]
    after = ids.index(parts.task.id) + 1 if parts.task.id in ids else len(ids)
    open_lines = [line for line in parts.plan[after:] if line.marker is Marker.PENDING]
    plan = "The plan is in `.afresh/PLAN.md`; this task is marked `[~]` there.\n" if ids else ""
    if not open_lines:
        return plan
    return f"{plan}After this task comes {_named(open_lines[0].id, open_lines[0].title)}.\n"


def _progress(parts: BriefParts) -> str:
    """Return how many tasks are done: of the plan, and of this task's epic if it has one.

    This task never counts as done, because that would reveal its history.
    """
    if not parts.plan:
        return ""
    epic = next((line.epic for line in parts.plan if line.id == parts.task.id), "")
    of_epic = [line for line in parts.plan if line.epic == epic]
    rows = [f"Of the {_tasks(parts.plan)} in the plan, {_count_done(parts, parts.plan)} done."]
    if epic:
        rows.append(
            f"This task is part of the epic {one_line(epic)}: of its {_tasks(of_epic)}, "
            f"{_count_done(parts, of_epic)} done."
        )
    return "\n".join(rows) + "\n"


def _tasks(lines: Sequence[PlanLine]) -> str:
    return "1 task" if len(lines) == 1 else f"{len(lines)} tasks"


def _count_done(parts: BriefParts, lines: Sequence[PlanLine]) -> str:
    done = sum(line.marker is Marker.DONE and line.id != parts.task.id for line in lines)
    return "1 is" if done == 1 else f"{done} are"


def _acceptance_state(parts: BriefParts) -> str:
    task = parts.task
    clean = task.verify.checkout is Checkout.CLEAN
    where = "on a clean checkout of the committed files" if clean else "in this worktree"
    own = f"The acceptance command of {task.id} is run {where}.\n"
    passed = (
        "The acceptance command of each finished task passes on the commit that is named with it.\n"
    )
    return own + (passed if parts.facts else "")


def _changed(facts: Sequence[Fact]) -> str:
    """Return the files that finished tasks changed, each once, those of the newest commit first."""
    names = dict.fromkeys(one_line(name) for fact in facts for name in fact.files)
    listed = ""
    for name in names:
        longer = f"{listed}, {name}" if listed else name
        if len(longer) > FILES_LENGTH:
            break
        listed = longer
    return f"Files that finished tasks changed: {listed}.\n" if listed else ""


def _done(fact: Fact) -> str:
    commit = f", commit {fact.commit[:COMMIT_LENGTH]}" if fact.commit else ""
    done = f"- {_named(fact.id, fact.title)} is done{commit}."
    summary = without_history(fact.summary)[:SUMMARY_LENGTH]
    return f"{done} {summary}".rstrip() + "\n"


def _named(identity: str, title: str) -> str:
    return one_line(identity if title in ("", identity) else f"{identity} ({title})")


def _acceptance(task: Task) -> str:
    words = " ".join(_quoted(word) for word in task.verify.command)
    return f"## Done means\nThis command passes:\n\n    {words}\n"


def _quoted(word: str) -> str:
    safe = word and all(ch.isalnum() or ch in "@%+=:,./-_" for ch in word)
    return word if safe else "'" + word.replace("'", "'\"'\"'") + "'"

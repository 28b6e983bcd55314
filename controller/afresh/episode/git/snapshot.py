"""Turns what the agent left in the worktree into one commit, which is not on the branch yet.

Trusts nothing in the worktree: its repository, attributes, hooks and configuration are not used,
links are stored and never followed, and the runner writes `.afresh` itself. Runs no program from
there.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from afresh.contract.order import Order, Task
from afresh.contract.sentences import with_details
from afresh.contract.text import one_line
from afresh.contract.words import Outcome
from afresh.episode.git import authorship, worktree
from afresh.episode.git.bare_repositories import BareFolders
from afresh.episode.git.faults import GitError
from afresh.episode.git.history import message
from afresh.episode.git.overlay import tree_to_check_out, tree_to_commit
from afresh.episode.git.repository import GitRepository
from afresh.episode.git.scope import EMBEDDED, GUIDE, FileChange, literal_names, scope_problem
from afresh.episode.git.state_files import AgentNotes, write_state
from afresh.episode.git.unsafe_files import first_unsafe_file
from afresh.episode.outbox import Outbox
from afresh.episode.reporting.redact import Redactor
from afresh.episode.stopped import SubtaskStopped

LOCKED = "The agent left files that cannot be read and stored; afresh logs shows which."
INVALID_PATH = f"The agent left a file whose name git cannot store safely; {GUIDE}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The agent's changes to the tree of `head`, and what it says about them.

    `warnings` are sentences about changes that are not kept.
    """

    head: str
    tree: str
    changes: tuple[FileChange, ...]
    outbox: Outbox
    warnings: tuple[str, ...] = ()


def take(git: GitRepository, order: Order, head: str, tree: Path, outbox: Outbox) -> Snapshot:
    """Stage the worktree. Raises SubtaskStopped if it has something that cannot be committed."""
    base = tree_to_check_out(git, order, head)
    try:
        git.run("read-tree", base)
        bare = BareFolders()
        strange = first_unsafe_file(git, base, tree, bare)
        if strange:
            raise SubtaskStopped(Outcome.OUT_OF_SCOPE, strange)
        git.run("add", "--all", "--", ".", f":(exclude,top){worktree.STATE}", tree=tree)
    except (GitError, OSError) as error:
        if "invalid path" in str(error):
            raise SubtaskStopped(Outcome.OUT_OF_SCOPE, INVALID_PATH) from error
        raise SubtaskStopped(Outcome.AGENT_ERROR, LOCKED) from error
    staged, warnings = tree_to_commit(git, order, head, git.git_dir / "index")
    changes = changes_of(git, head, staged)
    refuse_bare(changes, bare)
    return Snapshot(head=head, tree=staged, changes=changes, outbox=outbox, warnings=warnings)


def check_scope(git: GitRepository, task: Task, snapshot: Snapshot) -> None:
    """Raise SubtaskStopped if the changes are outside of the subtask's scope."""
    problem = scope_problem(task, snapshot.changes)
    if problem:  # git is asked about folders only if the result may depend on them
        problem = scope_problem(task, snapshot.changes, _folders(git, task, snapshot.head))
    if problem:
        raise SubtaskStopped(Outcome.OUT_OF_SCOPE, problem)


def refuse_bare(changes: Sequence[FileChange], bare: BareFolders) -> None:
    """Raise SubtaskStopped if a changed path is in a bare repository."""
    place = bare.first_with(change.path for change in changes if change.status != "D")
    if place:
        raise SubtaskStopped(Outcome.OUT_OF_SCOPE, with_details(EMBEDDED, one_line(place)))


def _folders(git: GitRepository, task: Task, head: str) -> Collection[str]:
    """Return the globs that name a folder at `head`."""
    names = {glob: name for glob, name in literal_names(task.files).items() if "\n" not in name}
    asked = "".join(f"{head}:{name}\n" for name in names.values())
    kinds = git.text("cat-file", "--batch-check=%(objecttype)", stdin=asked.encode()).split("\n")
    pairs = zip(names, kinds, strict=False)
    return {glob for glob, kind in pairs if kind == "tree"}


def commit(
    git: GitRepository, order: Order, task: Task, snapshot: Snapshot, plan: str, redact: Redactor
) -> str:
    """Commit the snapshot on its head, with `plan` and the agent's notes; return its id."""
    outbox = snapshot.outbox
    notes = AgentNotes(
        heading=f"{task.id} {task.title}",
        discovery=redact(outbox.discovery or ""),
        ideas=redact(outbox.ideas or ""),
    )
    tree = write_state(git, snapshot.tree, plan, notes)
    summary = redact(outbox.summary or outbox.unchanged or "")
    text = message(order, task, summary, [change.path for change in snapshot.changes])
    return authorship.commit(git, order, tree, snapshot.head, text)


def changes_of(git: GitRepository, head: str, tree: str) -> tuple[FileChange, ...]:
    """Return how `tree` differs from the commit `head`. Raises GitError."""
    raw = git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", head, tree)
    fields = raw.decode(errors="surrogateescape").split("\0")[:-1]
    pairs = zip(fields[::2], fields[1::2], strict=True)
    return tuple(
        FileChange(path=path, status=meta.split()[4][0], mode=meta.split()[1])
        for meta, path in pairs
    )

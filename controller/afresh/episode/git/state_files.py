"""Writes the files of `.afresh` that belong to the runner: the plan, and what agents have noted.

Owns their form in a tree. Decides neither what is noted nor which plan holds, and makes no commit.
"""

from dataclasses import dataclass

from afresh.contract.markdown import escaped_line, escaped_text
from afresh.episode.git import worktree
from afresh.episode.git.repository import GitRepository


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentNotes:
    """What is appended to the files of notes, under a heading; an empty text is no note.

    A note is an agent's: it is written as plain text with lists at most.

    The texts are free of secrets: the caller has redacted them.
    """

    heading: str
    discovery: str = ""
    ideas: str = ""


def write_state(git: GitRepository, tree: str, plan: str, notes: AgentNotes | None = None) -> str:
    """Return the id of `tree` with this plan, and with the notes after those that are there."""
    files = {worktree.PLAN: plan.encode()}
    if notes:
        for path, title, note in (
            (worktree.DISCOVERY, "Discovery", notes.discovery),
            (worktree.IDEAS, "Ideas", notes.ideas),
        ):
            if note:
                old = git.read(tree, path) or f"# {title}\n".encode()
                files[path] = (
                    old + f"\n## {escaped_line(notes.heading)}\n\n{escaped_text(note)}\n".encode()
                )
    index = git.git_dir / "state"
    git.run("read-tree", tree, index=index)
    entries = "".join(
        f"{worktree.REGULAR} {git.store(text)}\t{path}\0" for path, text in files.items()
    )
    git.run("update-index", "-z", "--replace", "--index-info", stdin=entries.encode(), index=index)
    return git.text("write-tree", index=index)

"""Writes the files of `.afresh` that belong to the runner: the plan and the agents' notes.

Owns their format in a tree. Decides neither the notes nor the plan, and creates no commit.
"""

from dataclasses import dataclass

from afresh.contract.markdown import escaped_line, escaped_text
from afresh.episode.git import worktree
from afresh.episode.git.repository import GitRepository


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentNotes:
    """Texts to append to the files of notes, under a heading; an empty text is not appended.

    Agents write the texts, so they are reduced to plain text with lists at most. The caller must
    have redacted them.
    """

    heading: str
    discovery: str = ""
    ideas: str = ""


def write_state(git: GitRepository, tree: str, plan: str, notes: AgentNotes | None = None) -> str:
    """Return the id of `tree` with this plan, and with the notes appended to existing ones."""
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

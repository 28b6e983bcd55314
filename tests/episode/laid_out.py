"""A worktree as the runner lays it out, and what the runner makes of it, without the pod around."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from afresh.contract.words import Marker
from afresh.episode.briefing import planned
from afresh.episode.git import snapshot, worktree
from afresh.episode.git.repository import GitRepository
from afresh.episode.git.snapshot import Snapshot
from afresh.episode.outbox import collect
from afresh.episode.reporting.redact import Redactor
from tests.episode.pod import make_order, make_task

ORDER = make_order("http://git.example.com/x.git", "")
TASK = make_task()


@dataclass(frozen=True)
class LaidOut:
    """The trusted repository, a commit in it, and that commit laid out for an agent."""

    git: GitRepository
    head: str
    worktree: Path
    home: Path

    @classmethod
    def prepare(cls, root: Path, files: Mapping[str, str] | None = None) -> "LaidOut":
        """Lay out a commit with README.md and these files."""
        git = GitRepository(git_dir=root / "git")
        git.create()
        git.exclude([])
        entries = "".join(
            f"100644 {git.store(text.encode())}\t{name}\0"
            for name, text in {"README.md": "A sample.", **(files or {})}.items()
        )
        git.run("update-index", "-z", "--index-info", stdin=entries.encode())
        head = git.commit_tree(git.text("write-tree"), None, "Add files\n", 1_700_000_000)
        plan = planned(ORDER, TASK, Marker.RUNNING)
        layout = worktree.WorktreeLayout(
            tree=head, date=1_700_000_000, branch="afresh/demo", plan=plan
        )
        worktree.lay_out(git, layout, root / "worktree")
        (root / "home").mkdir()
        return cls(git, head, root / "worktree", root / "home")

    def work(self, script: str) -> None:
        """Do an agent's work."""
        subprocess.run(
            ["sh", "-c", script],
            cwd=self.worktree,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home)},
            check=True,
            timeout=120,
        )

    def take(self) -> Snapshot:
        """Take a snapshot; see `snapshot.take`."""
        return snapshot.take(self.git, ORDER, self.head, self.worktree, collect(self.worktree))

    def commit(self) -> str:
        """Commit a snapshot; return the commit's id."""
        plan = planned(ORDER, TASK, Marker.DONE)
        return snapshot.commit(self.git, ORDER, TASK, self.take(), plan, Redactor())

    def files(self, commit: str) -> dict[str, str]:
        """The files of a commit."""
        names = self.git.text("ls-tree", "-r", "--name-only", commit).splitlines()
        return {name: self.git.text("cat-file", "blob", f"{commit}:{name}") for name in names}

"""A package's branch as the git server has it."""

import re
from dataclasses import dataclass

from tests.e2e.cluster import Cluster

GIT = ("git", "-c", "safe.directory=*", "-C", "/data/ledger.git")
WORK = "%H %(trailers:key=Afresh-Subtask,valueonly,separator=%x20)"
MARKED = re.compile(r"^- (\[.\]) (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Branch:
    """One branch of the demo's repository."""

    cluster: Cluster
    name: str

    def work(self) -> list[tuple[str, str]]:
        """Return commit and subtask of the work on it, oldest first; without bare plans."""
        log = self._git("log", "--reverse", f"--format={WORK}", f"main..{self.name}")
        lines = [line.split() for line in log.splitlines()]
        return [(line[0], line[1]) for line in lines if len(line) > 1]

    def commits(self) -> list[str]:
        """Return the commits of the work on it, oldest first."""
        return [commit for commit, _ in self.work()]

    def subtasks(self) -> list[str]:
        """Return the subtasks whose work is on it, oldest first."""
        return [subtask for _, subtask in self.work()]

    def read(self, path: str) -> str:
        """Return a file as it stands there; empty if it is not there."""
        return self._git("show", f"{self.name}:{path}")

    def plan(self) -> dict[str, str]:
        """Return the marker of each subtask as PLAN.md has it, in its order."""
        return {name: marker for marker, name in MARKED.findall(self.read(".afresh/PLAN.md"))}

    def _git(self, *arguments: str) -> str:
        done = self.cluster.run(
            "kubectl", "exec", "-n", "afresh-demo", "deployment/git", "--", *GIT, *arguments
        )
        return done.stdout if done.returncode == 0 else ""

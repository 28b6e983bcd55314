"""Large files in a repository and in an agent's work: git handles them in little memory."""

import os
import shutil
from pathlib import Path

import pytest

from afresh.episode.git import push, snapshot, worktree
from afresh.episode.git.fetching import BranchStart
from afresh.episode.git.worktree import WorktreeLayout
from afresh.episode.outbox import collect
from afresh.episode.reporting.redact import Redactor
from tests.episode.lone_runner import BRANCH, LoneRunner
from tests.episode.pod import make_task
from tests.episode.servers import Remote, git

# A small part of the runner's memory, so that the files of the tests can be small too.
MOST_MIB = 96


def write_large(path: Path, head: str, mib: int) -> Path:
    """Write a file of this size that begins with `head`."""
    with path.open("w") as file:
        file.write(head)
        file.truncate(mib << 20)
    return path


def limit_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each git process that is started from now on allocate at most MOST_MIB."""
    program, path = shutil.which("git"), os.environ["PATH"]
    (folder / "git").write_text(f'#!/bin/sh\nulimit -d {MOST_MIB << 10}\nexec {program} "$@"\n')
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{path}")


def lay_out(runner: LoneRunner, start: BranchStart, directory: Path) -> None:
    """Lay out the head of the branch for an agent."""
    layout = WorktreeLayout(tree=start.head, date=start.date, branch=BRANCH, plan="")
    worktree.lay_out(runner.git, layout, directory)


def test_a_large_file_of_the_base_is_fetched_and_laid_out(
    runner: LoneRunner, remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = write_large(tmp_path / "large", "a", 2 * MOST_MIB)
    blob = git(remote.directory, "hash-object", "-w", str(large))
    index = remote.directory / "large-index"
    git(
        remote.directory, "update-index", "--add", "--cacheinfo", f"100644,{blob},data", index=index
    )
    tree = git(remote.directory, "write-tree", index=index)
    made = git(remote.directory, "commit-tree", tree, "-p", "main", "-m", "Add data")
    git(remote.directory, "update-ref", "refs/heads/main", made)
    limit_memory(tmp_path, monkeypatch)

    lay_out(runner, runner.fetch(), tmp_path / "worktree")

    assert (tmp_path / "worktree" / "data").stat().st_size == large.stat().st_size


@pytest.mark.parametrize(
    ("number", "mib"),
    [
        pytest.param(6, 40, id="files over the size up to which git looks for differences"),
        pytest.param(12, 12, id="more files of a smaller size"),
    ],
)
def test_large_files_of_an_agent_are_committed_and_pushed(
    runner: LoneRunner,
    remote: Remote,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    mib: int,
) -> None:
    start, tree = runner.fetch(), tmp_path / "worktree"
    lay_out(runner, start, tree)
    for count in range(number):
        write_large(tree / f"{count}.data", str(count), mib)
    limit_memory(tmp_path, monkeypatch)

    taken = snapshot.take(runner.git, runner.order, start.head, tree, collect(tree))
    commit = snapshot.commit(runner.git, runner.order, make_task(), taken, "", Redactor())
    push.push(runner.git, runner.order, start, commit)

    assert remote.head(BRANCH) == commit

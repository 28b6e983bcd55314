"""A repository that is a submodule of another one."""

from pathlib import Path

import pytest

from tests.episode.lone_runner import BRANCH
from tests.episode.servers import Remote, git

PLACE = "vendor/lib"


def link(remote: Remote, path: str, commit: str, url: str) -> None:
    """Commit a submodule to main, as `git submodule add` does."""
    index = remote.directory / "test-index"
    index.unlink(missing_ok=True)
    parent = remote.head("main")
    assert parent
    git(remote.directory, "read-tree", parent, index=index)
    text = f'[submodule "{path}"]\n\tpath = {path}\n\turl = {url}\n'
    blob = git(remote.directory, "hash-object", "-w", "--stdin", stdin=text)
    for entry in (f"100644,{blob},.gitmodules", f"160000,{commit},{path}"):
        git(remote.directory, "update-index", "--add", "--cacheinfo", entry, index=index)
    tree = git(remote.directory, "write-tree", index=index)
    made = git(remote.directory, "commit-tree", tree, "-p", parent, "-m", "Add a submodule")
    git(remote.directory, "update-ref", "refs/heads/main", made)


def linked(remote: Remote, branch: str = BRANCH, path: str = PLACE) -> str:
    """The mode and the id of what is at a path on a branch."""
    return git(remote.directory, "ls-tree", "--format=%(objectmode) %(objectname)", branch, path)


@pytest.fixture
def library(git_root: Path, git_port: int, remote: Remote) -> Remote:
    """A second repository, which the first has as a submodule."""
    made = Remote.create(git_root, f"library-of-{remote.directory.name[:-4]}", git_port)
    made.commit("main", {"old.txt": "old\n"})
    commit = made.commit("main", {"lib.txt": "a library\n", "sub/deep.txt": "deep\n"})
    # Elsewhere: what the tree says of it must not matter.
    link(remote, PLACE, commit, "http://127.0.0.1:1/nowhere.git")
    return made

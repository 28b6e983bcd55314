"""Creates the demo's bare repository from the plain files of the sample project.

The same files give the same commit everywhere. It must not know how the repository is served.
"""

import os
import shutil
import subprocess
from pathlib import Path

_IDENTITY = {
    "NAME": "Ledger authors",
    "EMAIL": "ledger@example.com",
    "DATE": "2026-03-01T12:00:00Z",
}

_CONFIG = """\
[http]
    receivepack = true
[uploadpack]
    allowAnySHA1InWant = false
[transfer]
    # Anything but branches and side refs can be neither seen nor pushed; the last match counts.
    hideRefs = refs/
    hideRefs = !refs/heads/
    hideRefs = !refs/afresh/
# A collection in the background would outlive the request that began it.
[receive]
    autogc = false
[gc]
    auto = 0
"""


def git_environment() -> dict[str, str]:
    """Return an environment in which git reads only the repository's own configuration."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }


def create_repository(repository: Path, project: Path) -> None:
    """Create the bare `repository` with the files of `project` on `main`, unless it exists.

    An interrupted call leaves no incomplete repository. Raises CalledProcessError with git's error.
    """
    if repository.exists():
        return
    draft = repository.with_name(f".{repository.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    _git("init", "--quiet", "--bare", "--template=", "--initial-branch=main", str(draft))
    with (draft / "config").open("a", encoding="utf-8") as config:
        config.write(_CONFIG)
    _commit(draft, project)
    draft.rename(repository)


def _commit(repository: Path, project: Path) -> None:
    in_project = ("-C", str(project), "--git-dir", str(repository), "--work-tree", str(project))
    _git(*in_project, "-c", "core.fileMode=false", "add", "--all", ".")
    at = ("--git-dir", str(repository))
    tree = _git(*at, "write-tree")
    commit = _git(*at, "commit-tree", tree, "-m", "A small double-entry ledger")
    _git(*at, "update-ref", "refs/heads/main", commit)
    (repository / "index").unlink()


def _git(*arguments: str) -> str:
    people = {
        f"GIT_{who}_{key}": value
        for who in ("AUTHOR", "COMMITTER")
        for key, value in _IDENTITY.items()
    }
    return subprocess.run(
        ["git", *arguments],
        env=git_environment() | people,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()

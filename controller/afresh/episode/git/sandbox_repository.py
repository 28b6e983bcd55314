"""The repository inside a checkout: one commit with the files, no history and no remote.

Many programs expect to run in a repository, and `git diff` is useful to an agent. The runner never
reads it. The same files, branch and date give the same bytes.
"""

import shutil
from pathlib import Path

from afresh.episode.git.repository import GitRepository, RunningGit

CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
[user]
\tname = Agent
\temail = agent@localhost
"""
# No filter applies, so that `git lfs` in an image does not report the files as changed.
ATTRIBUTES = "* -filter\n"
PACKED = "packed"


class SandboxRepository:
    """A repository whose only commit has the files of an index. `write` creates it."""

    def __init__(self, git: GitRepository, index: Path, date: int) -> None:
        self._git_dir = git.git_dir
        self._index = index
        self._commit = git.commit_tree(git.text("write-tree", index=index), None, "Files\n", date)
        self._packing = _begin_to_pack(git, self._commit)

    def write(self, directory: Path, branch: str) -> None:
        """Write the repository into `directory`, with its commit on `branch`."""
        head = Path("refs", "heads", branch)
        for name in ("objects/pack", "objects/info", "info", "refs/tags", str(head.parent)):
            (directory / name).mkdir(parents=True, exist_ok=True)
        (directory / "HEAD").write_text(f"ref: {head}\n")
        (directory / "config").write_text(CONFIG)
        (directory / "info" / "attributes").write_text(ATTRIBUTES)
        (directory / head).write_text(f"{self._commit}\n")
        shutil.copyfile(self._index, directory / "index")
        self._packing.output()
        for file in (self._git_dir / PACKED).iterdir():
            shutil.move(file, directory / "objects" / "pack" / file.name)


def _begin_to_pack(git: GitRepository, commit: str) -> RunningGit:
    """Start git to write `commit` and its files as one pack.

    Nothing is reused from the fetched pack, whose form the server chooses. git renames a finished
    pack, which is not possible across volumes, so the pack is written here and moved later.
    """
    made = git.git_dir / PACKED
    made.mkdir(exist_ok=True)
    return git.start(
        *("-c", "pack.compression=1", "-c", "pack.threads=1"),
        *("pack-objects", "--revs", "--quiet", "--window=0"),
        *("--no-reuse-delta", "--no-reuse-object", str(made / "pack")),
        stdin=f"{commit}\n".encode(),
    )

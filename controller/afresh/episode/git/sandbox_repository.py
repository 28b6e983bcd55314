"""The repository inside a checkout: one commit with these files, no history and no remote.

Many programs want to be in a repository, and `git diff` is useful to an agent. Nothing in it is
ever read back. The same files, branch and date give the same bytes.
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
# Files are shown as they are: an image's own `git lfs` must not take them for changed.
ATTRIBUTES = "* -filter\n"
PACKED = "packed"


class ThrowAway:
    """A repository in the making, with the files of an index as its only commit."""

    def __init__(self, git: GitRepository, index: Path, date: int) -> None:
        self._git_dir = git.git_dir
        self._index = index
        self._commit = git.commit_tree(git.text("write-tree", index=index), None, "Files\n", date)
        self._packing = _begin_to_pack(git, self._commit)

    def write(self, directory: Path, branch: str) -> None:
        """Write it into `directory`, with that commit on `branch`."""
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
    """Have git write `commit` and its files as one pack.

    Nothing is reused from the fetched pack, which the server makes as it likes. git renames the
    pack into its place, which it cannot do across volumes, so it is made here and then moved.
    """
    made = git.git_dir / PACKED
    made.mkdir(exist_ok=True)
    return git.start(
        *("-c", "pack.compression=1", "-c", "pack.threads=1"),
        *("pack-objects", "--revs", "--quiet", "--window=0"),
        *("--no-reuse-delta", "--no-reuse-object", str(made / "pack")),
        stdin=f"{commit}\n".encode(),
    )

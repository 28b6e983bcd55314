"""The repository inside a checkout: one commit with these files, no history and no remote.

Many programs want to be in a repository, and `git diff` is useful to an agent. Nothing in it is
ever read back. The same files, branch and date give the same bytes.
"""

import shutil
from pathlib import Path

from afresh.episode.git import Git

CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
[user]
\tname = Agent
\temail = agent@localhost
"""
EXCLUDED = ".afresh/outbox/\n"


def write(git: Git, directory: Path, index: Path, branch: str, date: int) -> None:
    """Write a repository into `directory`, with the files of `index` as its only commit."""
    head = Path("refs", "heads", branch)
    for name in ("objects/pack", "objects/info", "info", "refs/tags", str(head.parent)):
        (directory / name).mkdir(parents=True, exist_ok=True)
    commit = git.commit_tree(git.text("write-tree", index=index), None, "Files\n", date)
    (directory / "HEAD").write_text(f"ref: {head}\n")
    (directory / "config").write_text(CONFIG)
    (directory / "info" / "exclude").write_text(EXCLUDED)
    (directory / head).write_text(f"{commit}\n")
    _pack(git, commit, directory / "objects" / "pack")
    shutil.copyfile(index, directory / "index")


def _pack(git: Git, commit: str, destination: Path) -> None:
    """Write `commit` and its files as one pack.

    Nothing is reused from the fetched pack, which the server makes as it likes. git renames the
    pack into its place, which it cannot do across volumes, so it is made here and then moved.
    """
    made = git.git_dir / "packed"
    made.mkdir(exist_ok=True)
    git.run(
        *("-c", "pack.compression=1", "-c", "pack.threads=1"),
        *("pack-objects", "--revs", "--quiet", "--window=0"),
        *("--no-reuse-delta", "--no-reuse-object", str(made / "pack")),
        stdin=f"{commit}\n".encode(),
    )
    for file in made.iterdir():
        shutil.move(file, destination / file.name)

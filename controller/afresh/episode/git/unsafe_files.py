"""Finds files in a worktree that git must not stage: embedded repositories, odd and huge files.

Examines names and file types only: follows no link, enters no embedded repository and reads no
file. Ignored files are never staged, so they may be anything.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from afresh.contract.sentences import with_details
from afresh.contract.text import one_line
from afresh.episode.git import worktree
from afresh.episode.git.bare_repositories import BareFolders
from afresh.episode.git.faults import GitError
from afresh.episode.git.repository import GitRepository
from afresh.episode.git.scope import EMBEDDED, GUIDE

# Storing a larger file takes longer than the pod's deadline allows, and many servers refuse it.
LARGEST_BYTES = 100 << 20
LIKE_STATE = f"The agent left a name that some systems take for {worktree.STATE}; {GUIDE}."
NO_FILE = f"The agent left something that is neither a file nor a link; {GUIDE}."
HUGE = f"The agent left a file of over 100 MiB; {GUIDE}."


def first_unsafe_file(git: GitRepository, head: str, tree: Path, bare: BareFolders) -> str | None:
    """Return a sentence about the first unsafe file, or None. The index must be that of `head`.

    Adds every path to `bare`, too, since it is not known here which ones the agent changed. Raises
    OSError if a folder cannot be read.
    """
    huge: dict[str, int] = {}
    found = dict(_strange(tree, huge, bare))
    for path in _stored(git, head, huge) if huge else ():
        del found[path]
    ignored = _ignored(git, tree, found) if found else ()
    return next((sentence for path, sentence in found.items() if path not in ignored), None)


def _ignored(git: GitRepository, tree: Path, paths: Collection[str]) -> Collection[str]:
    """Return the paths that git ignores, for instance the clones of a package manager."""
    names = b"".join(os.fsencode(path) + b"\0" for path in paths)
    try:
        listed = git.run("check-ignore", "--stdin", "-z", tree=tree, stdin=names)
    except GitError:  # none of them
        return ()
    return frozenset(os.fsdecode(listed).split("\0"))


def _strange(tree: Path, huge: dict[str, int], bare: BareFolders) -> Iterator[tuple[str, str]]:
    """Yield the path and a sentence for each unsafe file; add the sizes of huge ones to `huge`."""
    folders = [""]
    while folders:
        prefix = folders.pop()
        with os.scandir(tree / prefix) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        if prefix and any(entry.name.lower() == ".git" for entry in found):
            yield prefix, with_details(EMBEDDED, one_line(prefix))
            continue
        for entry in found:
            path = f"{prefix}/{entry.name}" if prefix else entry.name
            if path in (".git", worktree.STATE):
                continue
            bare.add(path)
            if path.casefold() == worktree.STATE:
                yield path, with_details(LIKE_STATE, one_line(path))
            elif entry.is_dir(follow_symlinks=False):
                folders.append(path)
            elif not (entry.is_symlink() or entry.is_file(follow_symlinks=False)):
                yield path, with_details(NO_FILE, one_line(path))
            elif (size := entry.stat(follow_symlinks=False).st_size) > LARGEST_BYTES:
                huge[path] = size
                yield path, with_details(HUGE, one_line(path))


def _stored(git: GitRepository, head: str, huge: Mapping[str, int]) -> Collection[str]:
    """Return the huge files that have the same size at `head`. Runs git once for all of them."""
    names = [path for path in huge if "\n" not in path]
    asked = b"".join(os.fsencode(f"{head}:{path}\n") for path in names)
    sizes = git.run("cat-file", "--batch-check=%(objectsize)", stdin=asked).split(b"\n")
    pairs = zip(names, sizes, strict=False)  # git's output ends with an empty line
    return [path for path, size in pairs if size == str(huge[path]).encode()]

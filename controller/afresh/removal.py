"""Removes folders with untrusted content, of any depth and with any permissions.

No other process may be using them. Links are removed and never followed.
"""

import os
import stat
from pathlib import Path


def remove(entry: "os.DirEntry[str]") -> None:
    """Remove a file, a link, or a folder with everything in it."""
    if entry.is_dir(follow_symlinks=False):
        remove_tree(Path(entry.path))
    else:
        Path(entry.path).unlink()


def remove_tree(top: Path) -> None:
    """Remove a folder with everything in it.

    Nested folders are moved up to `top` before they are read, so that no path is too long for the
    system and no recursion too deep for Python.
    """
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        folder.chmod(stat.S_IRWXU)
        with os.scandir(folder) as entries:
            found = list(entries)
        for entry in found:
            if not entry.is_dir(follow_symlinks=False):
                Path(entry.path).unlink()
            elif folder == top:
                waiting.append(Path(entry.path))
            else:
                Path(entry.path).chmod(stat.S_IRWXU)  # a locked one cannot be moved
                waiting.append(Path(entry.path).rename(top / os.urandom(16).hex()))
        if folder != top:
            folder.rmdir()
    top.rmdir()

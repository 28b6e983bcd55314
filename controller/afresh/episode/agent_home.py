"""Writes the agent program's own configuration below its HOME.

In a batch, an earlier agent has written there. Its links are not followed, and anything that is in
the place of a file to write is removed. No other process may be using HOME meanwhile.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from afresh.removal import remove_tree

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_home(home: Path, files: Mapping[str, str]) -> None:
    """Write `files`, a mapping from paths relative to `home` to contents, with mode 0600."""
    for name, content in files.items():
        *folders, last = PurePosixPath(name).parts
        place = home
        for folder in folders:
            place /= folder
            _make_folder(place)
        _make_room(place / last)
        descriptor = os.open(place / last, _NEW_FILE, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content)


def _make_folder(path: Path) -> None:
    if _is_folder(path):
        path.chmod(stat.S_IRWXU)
        return
    path.unlink(missing_ok=True)
    path.mkdir()


def _make_room(path: Path) -> None:
    if _is_folder(path):
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return False

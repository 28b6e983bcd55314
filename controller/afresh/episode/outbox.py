"""Reads the files that the agent left in `.afresh/outbox`, without following any link.

The texts are the agent's. They are bounded in length here; the caller redacts them.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from afresh.contract.text import without_escapes

TEXT_LIMIT = 8 << 10
NAMES = ("blocked", "discovery", "ideas", "summary", "unchanged")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbox:
    """The agent's texts: each field is the file `<field>.md`, None if there is none."""

    blocked: str | None = None
    discovery: str | None = None
    ideas: str | None = None
    summary: str | None = None
    unchanged: str | None = None


def collect(worktree: Path) -> Outbox:
    """Read the outbox. Anything in it that is not a regular file is ignored."""
    try:
        state = os.open(worktree / ".afresh", _DIRECTORY)
    except OSError:
        return Outbox()
    try:
        folder = os.open("outbox", _DIRECTORY, dir_fd=state)
    except OSError:
        return Outbox()
    finally:
        os.close(state)
    try:
        return Outbox(**{name: _read(f"{name}.md", folder) for name in NAMES})
    finally:
        os.close(folder)


def _read(name: str, folder: int) -> str | None:
    try:
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        text = os.read(descriptor, TEXT_LIMIT).decode(errors="replace")
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return "".join(ch for ch in without_escapes(text) if ch.isprintable() or ch in "\n\t").strip()

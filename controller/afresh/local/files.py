"""Writes small files so that a reader, or a reboot, finds the old content or the new, whole."""

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any


def write_whole(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Replace a file. When this returns, the new content survives a loss of power."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    _sync_folder(path.parent)


def write_json(path: Path, value: Any) -> None:
    """Replace a file by a JSON document."""
    write_whole(path, json.dumps(value, indent=1).encode())


def read_json(path: Path) -> Any:
    """Return the JSON document of a file; None if there is no such file. Raises ValueError."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

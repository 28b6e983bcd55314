"""Writes archives whose bytes depend only on their files.

Owns the times, the owner and the order of files in an archive. Must not know what is released.
"""

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path


def write_tar_gz(target: Path, files: Mapping[str, bytes], *, seconds: int) -> None:
    """Write `files`, a mapping from names to contents, ordered by name and owned by root.

    Their time is `seconds` since the epoch.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size = len(files[name])
            entry.mode = 0o644
            entry.mtime = seconds
            tar.addfile(entry, io.BytesIO(files[name]))
    # Without `mtime` the header would have the current time.
    target.write_bytes(gzip.compress(buffer.getvalue(), mtime=seconds))


def read_tar_gz(source: Path) -> dict[str, bytes]:
    """Return the files of an archive by name."""
    with tarfile.open(source, "r:gz") as tar:
        members = [member for member in tar if member.isreg()]
        opened = {member.name: tar.extractfile(member) for member in members}
        return {name: content.read() for name, content in opened.items() if content}


def tree(directory: Path, pattern: str, prefix: str) -> dict[str, bytes]:
    """Return the files of a directory that match a glob, by their names below `prefix`."""
    found = [path for path in directory.glob(pattern) if path.is_file()]
    return {f"{prefix}/{path.relative_to(directory)}": path.read_bytes() for path in found}

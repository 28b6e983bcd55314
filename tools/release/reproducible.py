"""Archives that are the same bytes whenever they are made of the same files.

Owns what a time, an owner and an order in an archive are. Must not know what is released.
"""

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path


def write_tar_gz(target: Path, files: Mapping[str, bytes], *, seconds: int) -> None:
    """Write `files`, by name, with the time `seconds` since 1970, as root's, in order."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size = len(files[name])
            entry.mode = 0o644
            entry.mtime = seconds
            tar.addfile(entry, io.BytesIO(files[name]))
    # The header would otherwise hold the present time.
    target.write_bytes(gzip.compress(buffer.getvalue(), mtime=seconds))


def read_tar_gz(source: Path) -> dict[str, bytes]:
    """Return the files of an archive by name."""
    with tarfile.open(source, "r:gz") as tar:
        members = [member for member in tar if member.isreg()]
        opened = {member.name: tar.extractfile(member) for member in members}
        return {name: content.read() for name, content in opened.items() if content}


def tree(directory: Path, pattern: str, prefix: str) -> dict[str, bytes]:
    """Return the files of a directory that match, by the name that they have below `prefix`."""
    found = [path for path in directory.glob(pattern) if path.is_file()]
    return {f"{prefix}/{path.relative_to(directory)}": path.read_bytes() for path in found}

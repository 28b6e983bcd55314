"""Files in Git LFS: their content in a checkout, and their pointers in a commit.

Owns the pointers, and the notes about which blob belongs to which pointer. The `.gitattributes` of
the tree decide which files are in Git LFS, as usual. Only the package's address decides where the
server is: a tree's `.lfsconfig` is never read, and no filter is run.

A note is a file in the trusted repository, named by the object's id. It names the blob with the
content and the blob of the pointer. If its name ends in `.new`, the server does not have the object
yet.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from afresh.contract.order import Order
from afresh.contract.sentences import with_details
from afresh.contract.text import one_line
from afresh.contract.words import Outcome
from afresh.episode.git.faults import GitError
from afresh.episode.git.lfs.access import LfsAccess
from afresh.episode.git.lfs.batch_api import LargeObject, LfsRemote
from afresh.episode.git.repository import ATTRIBUTES, GitRepository
from afresh.episode.git.worktree import STATE
from afresh.episode.stopped import SubtaskStopped

POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-[^\n]*\n)*"
    rb"oid sha256:([0-9a-f]{64})\nsize (\d{1,15})\n"
)
POINTER_BYTES = 1024
CHUNK = 1 << 20
NEW = ".new"
INVENTED = (
    "The agent left a Git LFS pointer, which only the runner may create; tell it in guidance to "
    "write the file itself."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A regular file of an index whose attributes assign it to Git LFS."""

    mode: str
    blob: str
    path: str
    size: int


def put_in(git: GitRepository, order: Order, index: Path) -> None:
    """Replace the pointers in `index` by the content of the files.

    Raises SubtaskStopped or GitError.
    """
    if not order.repository.lfs:
        return
    entries = [item for item in _entries(git, index) if item.size < POINTER_BYTES]
    pointers = _pointers(git, entries)
    notes = _notes(git)
    wanted = {
        found.oid: found for found in pointers.values() if found.oid not in notes and found.size
    }
    if wanted:
        remote = LfsRemote(access=LfsAccess.of(git, order))
        for item, file in remote.download(tuple(wanted.values()), git.git_dir / "large-file"):
            notes[item.oid] = git.text("hash-object", "-w", "--no-filters", str(file))
    lines = []
    for entry in entries:
        found = pointers.get(entry.path)
        if found and found.oid in notes:
            _note(git, found.oid, notes[found.oid], entry.blob)
            lines.append(f"{entry.mode} {notes[found.oid]}\t{entry.path}")
    git.enter(lines, index)


def take_out(git: GitRepository, order: Order, commit: str, index: Path) -> None:
    """Replace the files in `index` that belong to Git LFS by their pointers.

    A file that is unchanged since `commit` stays as it is, even if it should be a pointer. Raises
    SubtaskStopped or GitError.
    """
    if not order.repository.lfs:
        return
    entries = [item for item in _entries(git, index) if item.size]
    known = dict(map(_parts, _note_files(git)))
    before = _blobs(git, commit)
    changed = [item for item in entries if before.get(item.path) != item.blob]
    invented = _pointers(git, [item for item in changed if item.size < POINTER_BYTES])
    if strange := sorted(invented):
        raise SubtaskStopped(Outcome.AGENT_ERROR, with_details(INVENTED, one_line(strange[0])))
    lines = []
    for entry in changed:
        if entry.blob not in known:
            known[entry.blob] = _add(git, entry)
        lines.append(f"{entry.mode} {known[entry.blob]}\t{entry.path}")
    git.enter(lines, index)


def upload(git: GitRepository, order: Order) -> None:
    """Upload the files that were added here and that the server lacks. Raises SubtaskStopped."""
    new = [path for path in _note_files(git) if path.suffix == NEW]
    if not new:
        return
    blobs = {path.stem: _parts(path)[0] for path in new}
    sizes = {oid: int(git.text("cat-file", "-s", blob)) for oid, blob in blobs.items()}
    items = tuple(LargeObject(oid=oid, size=size) for oid, size in sizes.items())
    LfsRemote(access=LfsAccess.of(git, order)).upload(
        items, lambda item: git.reading(blobs[item.oid])
    )
    for path in new:
        path.rename(path.with_suffix(""))


def _entries(git: GitRepository, index: Path) -> list[Entry]:
    """Return the files of `index` with the attribute `filter=lfs`."""
    staged: dict[str, tuple[str, str]] = {}
    for line in os.fsdecode(git.run("ls-files", "-z", "--stage", index=index)).split("\0"):
        meta, _, path = line.partition("\t")
        if meta.startswith("100") and path.partition("/")[0] != STATE:
            staged[path] = (meta.split()[0], meta.split()[1])
    paths = [path for path in _filtered(git, index, staged) if path in staged]
    sizes = _sizes(git, [staged[path][1] for path in paths])
    return [
        Entry(mode=staged[path][0], blob=staged[path][1], path=path, size=size)
        for path, size in zip(paths, sizes, strict=True)
    ]


def _blobs(git: GitRepository, commit: str) -> dict[str, str]:
    listed = os.fsdecode(git.run("ls-tree", "-r", "-z", "--format=%(objectname) %(path)", commit))
    return {path: blob for blob, _, path in (line.partition(" ") for line in listed.split("\0"))}


def _filtered(git: GitRepository, index: Path, paths: Mapping[str, object]) -> Iterator[str]:
    # The trusted repository overrides all attributes; this one only reads them.
    plain = GitRepository(git_dir=git.git_dir / "attributes", deadline=git.deadline)
    plain.create()
    (plain.git_dir / "info" / "attributes").write_text(ATTRIBUTES.replace(" -filter", ""))
    said = plain.run(
        *("check-attr", "--cached", "-z", "--stdin", "filter"),
        stdin=b"".join(os.fsencode(path) + b"\0" for path in paths),
        index=index,
        extra={"GIT_OBJECT_DIRECTORY": str(git.git_dir / "objects")},
    )
    fields = os.fsdecode(said).split("\0")
    for path, value in zip(fields[::3], fields[2::3], strict=False):
        if value == "lfs":
            yield path


def _sizes(git: GitRepository, blobs: list[str]) -> list[int]:
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    return [
        int(size)
        for size in git.run("cat-file", "--batch-check=%(objectsize)", stdin=asked).split()
    ]


def _pointers(git: GitRepository, entries: list[Entry]) -> dict[str, LargeObject]:
    """Return the objects of those entries that are pointers, by path."""
    asked = "".join(f"{entry.blob}\n" for entry in entries).encode()
    said = git.run("cat-file", "--batch=%(objectsize)", stdin=asked)
    found: dict[str, LargeObject] = {}
    at = 0
    for entry in entries:
        start = said.index(b"\n", at) + 1
        at = start + entry.size + 1
        if match := POINTER.fullmatch(said, start, start + entry.size):
            found[entry.path] = LargeObject(oid=match[1].decode(), size=int(match[2]))
    return found


def _add(git: GitRepository, entry: Entry) -> str:
    """Write the pointer and the note of a new file; return the blob of the pointer."""
    digest, left = hashlib.sha256(), entry.size
    with git.reading(entry.blob) as content:
        while chunk := content.read(CHUNK):
            digest.update(chunk)
            left -= len(chunk)
    if left:
        raise GitError("cat-file", f"{entry.blob} has not its size")
    oid = digest.hexdigest()
    text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {entry.size}\n"
    pointer = git.store(text.encode())
    _note(git, f"{oid}{NEW}", entry.blob, pointer)
    return pointer


def _notes(git: GitRepository) -> dict[str, str]:
    return {path.stem: _parts(path)[0] for path in _note_files(git)}


def _note_files(git: GitRepository) -> list[Path]:
    folder = git.git_dir / "large"
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _parts(path: Path) -> tuple[str, str]:
    blob, pointer = path.read_text().split()
    return blob, pointer


def _note(git: GitRepository, name: str, blob: str, pointer: str) -> None:
    folder = git.git_dir / "large"
    folder.mkdir(exist_ok=True)
    if not (folder / f"{name}{NEW}").exists():
        (folder / name).write_text(f"{blob} {pointer}\n")

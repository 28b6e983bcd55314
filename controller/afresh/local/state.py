"""The folder in which the packages of one clone are kept, and who may write in it.

Owns the version of the folder's form, and the lock: only one process runs packages of a clone.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from afresh.local.clone import Clone
from afresh.local.files import read_json, write_json
from afresh.local.store import PackageStore

VERSION = 1


class StateError(Exception):
    """The folder cannot be used; the message is one sentence with the remedy."""


def state_home() -> Path:
    """Return where this person's programs keep their state."""
    given = os.environ.get("XDG_STATE_HOME", "")
    home = Path(given) if given.startswith("/") else Path.home() / ".local" / "state"
    return home / "afresh"


@dataclass(frozen=True, slots=True)
class StateFolder:
    """What is known of one clone's packages."""

    path: Path

    @classmethod
    def of(cls, clone: Clone) -> "StateFolder":
        """Return the clone's folder, made if it is not there. Raises StateError."""
        path = state_home() / clone.digest
        about = path / "about.json"
        try:
            known = read_json(about)
            if known is None:
                path.mkdir(parents=True, exist_ok=True, mode=0o700)
                write_json(about, {"version": VERSION, "clone": str(clone.common)})
            elif known["version"] > VERSION:
                raise StateError(
                    f"{path} is of a newer version of afresh; update afresh, or move the folder"
                    " away to begin again."
                )
        except OSError as error:
            raise StateError(
                f"{path} cannot be written ({error.strerror}); set XDG_STATE_HOME to a folder that"
                " can."
            ) from error
        return cls(path)

    def package(self, name: str) -> PackageStore:
        """Return the place of a package, which need not exist."""
        return PackageStore(self.path / "packages" / name)

    def packages(self) -> tuple[PackageStore, ...]:
        """Return all packages, by name."""
        found = sorted((self.path / "packages").glob("[!.]*"))
        return tuple(store for store in map(PackageStore, found) if store.exists)

    @contextlib.contextmanager
    def running(self, package: str) -> Iterator[None]:
        """Be the only process that runs the package. Raises StateError."""
        folder = self.path / "packages" / package
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise StateError(
                f"Another afresh run works on {package}; wait for it, or end it with Ctrl-C."
            ) from error
        try:
            yield
        finally:
            os.close(descriptor)

"""The folder in which the packages of one clone are kept, and who may write in it.

Owns the version of the folder's form, and the locks: only one process runs a package.
"""

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from afresh.local.clone import Clone
from afresh.local.files import read_json, write_json
from afresh.local.store import PackageStore

VERSION = 1
ABOUT, LOCK = "about.json", "lock"
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


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
        with _written(path):
            if not (path / ABOUT).exists():
                path.mkdir(parents=True, exist_ok=True, mode=0o700)
                write_json(path / ABOUT, {"version": VERSION, "clone": str(clone.common)})
        version = _version_of(path)
        if version is None:
            raise StateError(f"{path / ABOUT} cannot be read; move {path} away to begin again.")
        if version > VERSION:
            raise StateError(
                f"{path} is of a newer version of afresh; update afresh, or move the folder away"
                " to begin again."
            )
        return cls(path)

    def package(self, name: str) -> PackageStore:
        """Return the place of a package, which need not exist. Raises StateError."""
        if not NAME.fullmatch(name):
            raise StateError(f"{name!r} is not the name of a package; see afresh get.")
        return PackageStore(self.path / "packages" / name)

    def packages(self) -> tuple[PackageStore, ...]:
        """Return all packages, by name."""
        found = sorted((self.path / "packages").glob("[!.]*"))
        return tuple(store for store in map(PackageStore, found) if store.exists)

    @contextlib.contextmanager
    def running(self, package: str) -> Iterator[None]:
        """Be the only process that runs the package. Raises StateError."""
        folder = self.package(package).folder
        with _written(folder):
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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

    def is_running(self, package: str) -> bool:
        """Whether a process runs the package now."""
        try:
            descriptor = os.open(self.package(package).folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False


@contextlib.contextmanager
def _written(path: Path) -> Iterator[None]:
    """Say in a sentence why the block could not write there. Raises StateError."""
    try:
        yield
    except OSError as error:
        raise StateError(
            f"{path} cannot be written ({error.strerror}); set XDG_STATE_HOME to a folder that can."
        ) from error


def _version_of(path: Path) -> int | None:
    try:
        return int(read_json(path / ABOUT)["version"])
    except (OSError, ValueError, TypeError, KeyError):
        return None

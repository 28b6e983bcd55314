"""The mirror of a repository on a volume that many episodes share, so that each fetches less.

Owns the layout: one folder for each address, with complete bare repositories in it; the link
`current` points to one of them. Only runners mount the volume. An episode borrows the mirror's
objects by git's alternates. It has its own refs and index, so git's locks are sufficient. Objects
are only ever added to a mirror. A damaged mirror is replaced by a new one, and is removed when no
episode can be using it any more.
"""

import contextlib
import hashlib
import os
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from afresh.contract.order import Order
from afresh.contract.words import Outcome
from afresh.episode.git.faults import GitError, GitFault
from afresh.episode.git.repository import FETCH, GitRepository
from afresh.episode.stopped import SubtaskStopped

CURRENT = "current"
GIVEN_UP = "given-up"
# Part of the two minutes that the pod's deadline allows beyond the limits of the commands.
FILL_SECONDS = 60.0
RETRY_SECONDS = 3600.0
SLOW_SECONDS = 10.0
FRESH_SECONDS = 600.0
# Longer than the limit of any episode.
UNUSED_SECONDS = 7 * 86400.0
MOST_PACKS = 20
# Faults that may take long to appear, and usually repeat for the next episode.
SLOW_FAULTS = frozenset({GitFault.UNREACHABLE, GitFault.OTHER})
# Other episodes run as other users; only runners mount the volume.
EVERYBODY = 0o777
SHARED = ("-c", "core.sharedRepository=0666", "-c", "fetch.unpackLimit=1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """The mirror of one address below `folder`, from which the trusted repository `git` borrows."""

    folder: Path
    git: GitRepository
    order: Order

    @classmethod
    def of(cls, volume: Path, git: GitRepository, order: Order) -> "Mirror":
        """Return the mirror of the Order's address on the volume mounted at `volume`."""
        name = hashlib.sha256(order.repository.url.encode()).hexdigest()[:32]
        return cls(folder=volume / name, git=git, order=order)

    def attach(self) -> bool:
        """Borrow the objects of the mirror if it is up to date; return whether it was."""
        found = self._current()
        if found is None or not self._is_fresh(found):
            return False
        self._borrow(found)
        return True

    def bring_up_to_date(self) -> bool:
        """Create or refresh the mirror and borrow its objects; return whether that succeeded.

        A mirror that cannot be refreshed is used as it is: git fetches what it lacks. After False,
        the episode fetches without a mirror, and that fetch reports the reason.
        """
        found = self._current()
        if not self._is_young(self.folder / GIVEN_UP, RETRY_SECONDS):
            try:
                found = self._renewed(found)
            except GitError as error:
                if error.fault is GitFault.OTHER and found:
                    self.discard()
                    return False
            except OSError:  # a volume that is full or read-only
                pass
        if found is None:
            return False
        self._borrow(found)
        return True

    def discard(self) -> None:
        """Stop borrowing from this mirror, and prevent later episodes from using it."""
        with contextlib.suppress(OSError):
            os.utime(self.folder / CURRENT)  # unused from now on
            (self.folder / CURRENT).unlink()
        self._alternates.unlink(missing_ok=True)

    @property
    def is_attached(self) -> bool:
        """Whether the repository borrows the mirror's objects."""
        return self._alternates.exists()

    def is_to_blame(self, error: BaseException | None) -> bool:
        """Whether git may have failed because of the borrowed objects and not of the remote."""
        return self.is_attached and isinstance(error, GitError) and error.fault is GitFault.OTHER

    def damaged(self) -> SubtaskStopped:
        """Discard the mirror; return the end of an episode that depends on its objects already."""
        self.discard()
        claim = self.order.repository.cache_claim_name
        return SubtaskStopped(
            Outcome.INFRASTRUCTURE,
            f'The mirror of the repository on the claim "{claim}" is damaged; '
            "the next episode creates a new one.",
        )

    @property
    def _alternates(self) -> Path:
        return self.git.git_dir / "objects" / "info" / "alternates"

    @property
    def _ref(self) -> str:
        base = self.order.repository.base_ref
        return f"refs/afresh/{hashlib.sha256(base.encode()).hexdigest()[:32]}"

    def _current(self) -> Path | None:
        try:
            found = self.folder / os.readlink(self.folder / CURRENT)  # noqa: PTH115  # a name
        except OSError:
            return None
        return found if (found / "HEAD").is_file() else None

    def _is_fresh(self, found: Path) -> bool:
        return self._is_young(found / self._ref, FRESH_SECONDS)

    def _is_young(self, path: Path, seconds: float) -> bool:
        try:
            return time.time() - path.stat().st_mtime < seconds
        except OSError:
            return False

    def _borrow(self, found: Path) -> None:
        self._alternates.parent.mkdir(parents=True, exist_ok=True)
        self._alternates.write_text(f"{found}/objects\n")

    def _renewed(self, found: Path | None) -> Path:
        if found is None:
            return self._make()
        began = time.monotonic()
        try:
            self._refresh(found)
        except GitError as error:
            if time.monotonic() - began > SLOW_SECONDS:
                self._give_up(error)
            raise
        self._remove_unused()
        return found

    def _give_up(self, error: BaseException) -> None:
        """Suspend refreshing for RETRY_SECONDS, if each episode would wait as long again."""
        if isinstance(error, GitError) and error.fault in SLOW_FAULTS:
            (self.folder / GIVEN_UP).unlink(
                missing_ok=True
            )  # another user's file cannot be touched
            (self.folder / GIVEN_UP).touch()

    def _make(self) -> Path:
        """Fill a new mirror, then publish it; if several episodes do so, the last one is used."""
        _make_shared(self.folder)
        self._remove_unused()
        made = self.folder / secrets.token_hex(8)
        GitRepository(git_dir=made).create()
        for path in (made, *made.rglob("*")):
            if path.is_dir():
                path.chmod(EVERYBODY)
        try:
            self._refresh(made)
        except (GitError, OSError) as error:
            shutil.rmtree(made, ignore_errors=True)
            self._give_up(error)
            raise
        link = self.folder / f"{made.name}.link"
        link.symlink_to(made.name)
        link.replace(self.folder / CURRENT)
        return made

    def _refresh(self, mirror: Path) -> None:
        git = GitRepository(git_dir=mirror)
        repository = self.order.repository
        credentials = f"include.path={self.git.git_dir / 'credentials'}"
        git.run(
            *("-c", credentials, *SHARED, *FETCH),
            *("--", repository.url, f"+{repository.base_ref}:{self._ref}"),
            timeout=FILL_SECONDS,
        )
        os.utime(mirror / self._ref)  # unchanged refs are not written
        if len(list((mirror / "objects" / "pack").glob("*.pack"))) > MOST_PACKS:
            git.run(*SHARED, "repack", "-d", "--quiet", "--geometric=2")

    def _remove_unused(self) -> None:
        current = self._current()
        for path in self.folder.iterdir():
            if path.is_symlink() or path.is_file() or path == current:
                continue
            if not self._is_young(path, UNUSED_SECONDS):
                shutil.rmtree(path, ignore_errors=True)
        for part in current.glob("objects/pack/tmp_*") if current else ():  # from a broken fetch
            if not self._is_young(part, RETRY_SECONDS):
                part.unlink(missing_ok=True)


def _make_shared(folder: Path) -> None:
    try:
        folder.mkdir(mode=EVERYBODY)
    except FileExistsError:
        return
    folder.chmod(EVERYBODY)  # independent of the umask

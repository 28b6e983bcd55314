"""The submodules that the package lists: their files in a checkout, their links in a commit.

Owns the fetch of their commits. The tree names the commit of each; only the package names the
address, and a tree's `.gitmodules` is never read.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from afresh.contract.order import Order
from afresh.contract.sentences import with_details
from afresh.contract.text import one_line
from afresh.contract.words import Outcome
from afresh.episode.credentials import is_ssh
from afresh.episode.git import refusals
from afresh.episode.git.faults import GitError, GitFault
from afresh.episode.git.repository import FETCH, REMOTE_SECONDS, GitRepository
from afresh.episode.stopped import SubtaskStopped

GITLINK = "160000"
FIELD = "spec.repository.submodules of the WorkPackage"
NOT_KEPT = "Changes below a submodule are not kept; make them in its own repository."
NO_SUBMODULE = f"There is no submodule to fetch at a listed path; correct {FIELD}."
REFS = ("heads", "tags")
REMOVED = f"0 {'0' * 40}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A listed submodule of a tree: its path, its repository's URL, and its commit."""

    path: str
    url: str
    commit: str


def put_in(git: GitRepository, order: Order, commit: str, index: Path) -> None:
    """Replace the submodule links of `commit` in `index` by the files of the submodules.

    Raises SubtaskStopped or GitError.
    """
    for number, link in enumerate(_links(git, order, commit)):
        if not _is_here(git, link):
            _fetch(git, order, link, f"refs/afresh/submodules/{number}")
        git.enter([f"{REMOVED}\t{link.path}"], index)
        git.run("read-tree", f"--prefix={link.path}/", link.commit, index=index)


def take_out(git: GitRepository, order: Order, commit: str, index: Path) -> tuple[str, ...]:
    """Restore the submodule links of `commit` in `index`; return a sentence for each change."""
    changed = []
    staged = git.text("write-tree", index=index)
    for link in _links(git, order, commit):
        found = git.text("ls-tree", "--format=%(objectname)", staged, "--", link.path)
        if found != git.text("rev-parse", f"{link.commit}^{{tree}}"):
            changed.append(with_details(NOT_KEPT, one_line(link.path)))
        names = os.fsdecode(git.run("ls-files", "-z", "--", f":(literal){link.path}", index=index))
        lines = [f"{REMOVED}\t{name}" for name in names.split("\0") if name]
        git.enter([*lines, f"{GITLINK} {link.commit}\t{link.path}"], index)
    return tuple(changed)


def absent(git: GitRepository, order: Order, commit: str) -> tuple[str, ...]:
    """Return a sentence for each listed submodule that `commit` does not have."""
    there = {link.path for link in _links(git, order, commit)}
    return tuple(
        with_details(NO_SUBMODULE, one_line(item.path))
        for item in order.repository.submodules
        if item.path not in there
    )


def _links(git: GitRepository, order: Order, commit: str) -> Iterator[Link]:
    urls = {item.path: item.url for item in order.repository.submodules}
    if not urls:
        return
    for line in os.fsdecode(git.run("ls-tree", "-z", commit, "--", *urls)).split("\0"):
        meta, _, path = line.partition("\t")
        if meta.startswith(GITLINK):
            yield Link(path=path, url=urls[path], commit=meta.split()[2])


def _is_here(git: GitRepository, link: Link) -> bool:
    try:
        git.run("cat-file", "-e", f"{link.commit}^{{tree}}")
    except GitError:
        return False
    return True


def _fetch(git: GitRepository, order: Order, link: Link, ref: str) -> None:
    try:
        _get(git, link, ref)
    except GitError as error:
        if error.fault is GitFault.UNREACHABLE:
            ended = refusals.unreachable(link.url, FIELD)
            ended.is_servers = False  # another repository, which only this package may need
            raise ended from error
        raise unavailable(order, link, error.fault) from error


def unavailable(order: Order, link: Link, fault: GitFault) -> SubtaskStopped:
    """Return the end of an episode whose submodule cannot be fetched."""
    return SubtaskStopped(
        Outcome.AUTH if fault is GitFault.DENIED else Outcome.CONFIG,
        with_details(
            f"The submodule from {refusals.public_url(link.url)} cannot be fetched: "
            f"{_why(order, link, fault)}; correct that, or {FIELD}.",
            one_line(link.path),
        ),
    )


def _get(git: GitRepository, link: Link, ref: str) -> None:
    """Fetch the commit alone, or all branches and tags if the server requires it.

    Raises GitError.
    """
    alone = ("--depth=1", "--", link.url, f"+{link.commit}:{ref}")
    try:
        git.run(*FETCH, *alone, timeout=REMOTE_SECONDS)
    except GitError as error:
        if "unadvertised object" not in str(error):
            raise
        # With git's old protocol, as by SSH to a plain server, only refs can be fetched.
        named = ("--", link.url, *(f"+refs/{kind}/*:{ref}-{kind}/*" for kind in REFS))
        with contextlib.suppress(GitError):  # the first error names the problem
            git.run(*FETCH, *named, timeout=REMOTE_SECONDS)
        if not _is_here(git, link):
            raise


def _why(order: Order, link: Link, fault: GitFault) -> str:
    if fault is GitFault.DENIED:
        name = order.repository.secret_name
        same_site = urlsplit(link.url)[:2] == urlsplit(order.repository.url)[:2]
        by_ssh = is_ssh(link.url) and is_ssh(order.repository.url)
        used = name and (by_ssh or same_site)
        return f'it denies access with Secret "{name}"' if used else "it asks for credentials"
    if fault is GitFault.UNTRUSTED:
        return "its server's identity cannot be verified"
    if fault is GitFault.NOT_FOUND:
        return "there is no such repository, or its credentials may not see it"
    return f"its server does not provide commit {link.commit[:12]}"

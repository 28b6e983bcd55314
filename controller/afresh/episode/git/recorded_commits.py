"""Checks that the commits of finished subtasks, which the Order names, still exist.

Owns what counts as existing. Either the branch has a commit that says that it finished the subtask,
with any hash, as after a rebase. Or the repository has the named commit itself, as after a merge,
when the branch has no commits of its own or was deleted.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

from afresh.contract.order import Order, PlanLine
from afresh.contract.words import Marker, Outcome
from afresh.episode.context import EpisodeContext
from afresh.episode.git import refusals
from afresh.episode.git.faults import GitError, GitFault
from afresh.episode.git.fetching import BranchStart
from afresh.episode.git.history import SUBTASK, find_done, read_commits
from afresh.episode.git.repository import FETCH, REMOTE_SECONDS, GitRepository
from afresh.episode.stopped import SubtaskStopped

# A Report has room for this many; the next check finds the others.
MOST_REPORTED = 20
MISSING = (
    "The repository lacks commits of subtasks that are recorded as done; see .status.reviews of "
    "the package."
)
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# The faults if a server does not have a commit, or does not serve commits by hash.
_NOT_THERE = frozenset({GitFault.REF_MISSING, GitFault.OTHER})


def check(context: EpisodeContext, start: BranchStart) -> None:
    """Report the recorded commits that are missing.

    Raises SubtaskStopped if one is missing, or if the remote cannot be used.
    """
    unseen = _unseen(context.order, start)
    missing = (
        tuple(islice(_missing(context.git, context.order, unseen), MOST_REPORTED)) if unseen else ()
    )
    if missing:
        context.reporter.update(missing=missing)
        raise SubtaskStopped(Outcome.CANCELLED, MISSING)


def _unseen(order: Order, start: BranchStart) -> list[PlanLine]:
    """Return the lines that are done and for which the branch itself has no commit."""
    known = defaultdict(list)
    for commit in start.commits:
        known[commit.trailers.get(SUBTASK)].append(commit)
    return [
        line
        for line in order.plan
        if line.marker is Marker.DONE and line.commit and not find_done(known[line.id], order, line)
    ]


def _missing(git: GitRepository, order: Order, lines: Sequence[PlanLine]) -> Iterator[str]:
    """Yield the commits that the repository lacks, and those that did not finish their subtask.

    A server refuses a whole request because of one commit; then each half is requested by itself.
    """
    wanted = [line.commit or "" for line in lines]
    if all(map(_HASH.fullmatch, wanted)) and _fetched(git, order, wanted):
        for line, commit in zip(lines, wanted, strict=True):
            if not find_done(read_commits(git, commit, most=1), order, line):
                yield commit
    elif len(lines) == 1:
        yield wanted[0]
    else:
        middle = len(lines) // 2
        yield from _missing(git, order, lines[:middle])
        yield from _missing(git, order, lines[middle:])


def _fetched(git: GitRepository, order: Order, commits: Sequence[str]) -> bool:
    url = order.repository.url
    try:
        git.run(*FETCH, "--depth=1", "--", url, *commits, timeout=REMOTE_SECONDS)
    except GitError as error:
        if error.fault in _NOT_THERE:
            return False
        raise refusals.remote_problem(order, error) from error
    return True

"""Pushes a commit to the branch, if the branch has not moved.

A push either moves the branch from the expected commit to the new one, or changes nothing.
"""

from collections.abc import Sequence

from afresh.contract.order import Order
from afresh.contract.overlap import bounded
from afresh.contract.report import Unpushed
from afresh.contract.text import one_line
from afresh.contract.words import Outcome
from afresh.episode.git import refusals
from afresh.episode.git.faults import GitError, GitFault
from afresh.episode.git.fetching import BranchStart
from afresh.episode.git.repository import REMOTE_SECONDS, GitRepository
from afresh.episode.stopped import SubtaskStopped

NAMED = 3


def push(git: GitRepository, order: Order, start: BranchStart, commit: str) -> None:
    """Push `commit` if the branch is still at `start.expected`. Raises SubtaskStopped.

    The large files that it needs must be on the server already: see `overlay.publish`.
    """
    branch = f"refs/heads/{order.repository.branch}"
    lease = f"--force-with-lease={branch}:{start.expected}"
    url = order.repository.url
    try:
        git.run(
            *("push", "--quiet", "--porcelain", "--no-verify", lease),
            *("--", url, f"{commit}:{branch}"),
            timeout=REMOTE_SECONDS,
        )
    except GitError as error:
        if error.fault is GitFault.MOVED:
            raise moved(order) from error
        raise refusals.remote_problem(order, error) from error


def is_refusal(ended: SubtaskStopped) -> bool:
    """Whether the server refused the push, so that trying again does not help."""
    return ended.outcome in (Outcome.AUTH, Outcome.CONFIG)


def moved(order: Order, paths: Sequence[str] = ()) -> SubtaskStopped:
    """Return the end of an episode after a push of others, with the paths that conflict, if any."""
    branch = order.repository.branch
    if not paths:
        return SubtaskStopped(
            Outcome.CONFLICT,
            f'The branch "{branch}" was changed by someone else; the work is done again on top of '
            "those changes.",
        )
    named = ", ".join(one_line(path) for path in paths[:NAMED])
    more = " and others" if len(paths) > NAMED else ""
    return SubtaskStopped(
        Outcome.CONFLICT,
        f'The work conflicts with what others pushed to the branch "{branch}" in {named}{more}; '
        "it is done again on top of those changes.",
        unpushed=Unpushed(conflicts=bounded(paths)),
    )

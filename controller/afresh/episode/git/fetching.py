"""Fetches the commit that the work starts from: the head of the branch, or the base of a new one.

Owns the choice of the starting commit.
"""

from dataclasses import dataclass

from afresh.contract.order import Order
from afresh.episode.git import refusals
from afresh.episode.git.faults import GitError, GitFault
from afresh.episode.git.history import Commit, is_of_another_namespace, read_commits
from afresh.episode.git.reach import can_connect
from afresh.episode.git.repository import FETCH, REMOTE_SECONDS, GitRepository, RunningGit

HEAD_REF = "refs/afresh/head"
BASE_REF = "refs/afresh/base"
DEPTHS = (50, 2000, 2**31 - 1)  # to git, the last one means all commits


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchStart:
    """The commit that the work starts from.

    `expected` is the commit at which the branch must still be when the work is pushed; empty if
    there must be no branch. `commits` are the branch's own commits, newest first. `date` is that of
    the head, in seconds since the epoch.
    """

    head: str
    expected: str
    date: int
    commits: tuple[Commit, ...] = ()


def check_remote(order: Order) -> None:
    """Raise SubtaskStopped if no server listens at the repository's address."""
    if not can_connect(order.repository.url):
        raise refusals.unreachable(order.repository.url)


def begin_fetch(git: GitRepository, order: Order) -> RunningGit:
    """Start the first fetch that `fetch_start` needs."""
    return git.start(*_words_to_fetch(order, *_own_of_branch(order)))


def fetch_start(git: GitRepository, order: Order, begun: RunningGit | None = None) -> BranchStart:
    """Fetch the branch with its own commits, or the base if there is no branch yet.

    `begun` is what `begin_fetch` returned. Raises SubtaskStopped if the remote cannot be used, or
    if the branch has commits of another namespace.
    """
    try:
        return _if_ours(order, _from_branch(git, order, begun))
    except GitError as error:
        if error.fault is not GitFault.REF_MISSING:
            raise refusals.remote_problem(order, error) from error
    try:
        return _from_base(git, order)
    except GitError as error:
        if error.fault is not GitFault.REF_MISSING:
            raise refusals.remote_problem(order, error) from error
        raise refusals.no_base(order) from error


def fetch_moved(git: GitRepository, order: Order) -> BranchStart:
    """Fetch a branch that has moved, with all its own commits. Raises SubtaskStopped."""
    try:
        own = _own_by_depth(git, order, f"refs/heads/{order.repository.branch}")
        (head,) = read_commits(git, HEAD_REF, most=1)
    except GitError as error:
        if error.fault is GitFault.REF_MISSING:
            raise refusals.branch_deleted(order) from error
        raise refusals.remote_problem(order, error) from error
    return _if_ours(order, BranchStart(head=head.id, expected=head.id, date=head.date, commits=own))


def start_at(git: GitRepository, commit: str, before: BranchStart) -> BranchStart:
    """Return the start at `commit`, which this runner pushed to the branch after `before`."""
    (head,) = read_commits(git, commit, most=1)
    return BranchStart(
        head=head.id, expected=head.id, date=head.date, commits=(head, *before.commits)
    )


def _if_ours(order: Order, start: BranchStart) -> BranchStart:
    if is_of_another_namespace(start.commits, order):
        raise refusals.foreign_commits(order)
    return start


def _from_branch(git: GitRepository, order: Order, begun: RunningGit | None) -> BranchStart:
    try:
        if begun:
            begun.output(timeout=REMOTE_SECONDS)
        else:
            _fetch(git, order, *_own_of_branch(order))
        own = read_commits(git, HEAD_REF)
    except GitError as error:
        if error.fault is not GitFault.NO_EXCLUDE:
            raise
        own = _own_by_depth(git, order, f"refs/heads/{order.repository.branch}")
    newest = own[0] if own else read_commits(git, HEAD_REF, most=1)[0]
    return BranchStart(head=newest.id, expected=newest.id, date=newest.date, commits=own)


def _from_base(git: GitRepository, order: Order) -> BranchStart:
    _fetch(git, order, "--depth=1", {HEAD_REF: order.repository.base_ref})
    (head,) = read_commits(git, HEAD_REF, most=1)
    return BranchStart(head=head.id, expected="", date=head.date)


def _own_by_depth(git: GitRepository, order: Order, branch: str) -> tuple[Commit, ...]:
    """Fetch more and more of branch and base until they have a common commit.

    Used if the server cannot leave out the commits of the base by itself.
    """
    for depth in DEPTHS:
        _fetch(
            git, order, f"--depth={depth}", {HEAD_REF: branch, BASE_REF: order.repository.base_ref}
        )
        if _meet(git) or not (git.git_dir / "shallow").exists():
            break
    return read_commits(git, HEAD_REF, f"^{BASE_REF}")


def _meet(git: GitRepository) -> bool:
    try:
        git.run("merge-base", HEAD_REF, BASE_REF)
    except GitError:
        return False
    return True


def _own_of_branch(order: Order) -> tuple[str, dict[str, str]]:
    branch = f"refs/heads/{order.repository.branch}"
    return f"--shallow-exclude={order.repository.base_ref}", {HEAD_REF: branch}


def _fetch(git: GitRepository, order: Order, option: str, refs: dict[str, str]) -> None:
    git.run(*_words_to_fetch(order, option, refs), timeout=REMOTE_SECONDS)


def _words_to_fetch(order: Order, option: str, refs: dict[str, str]) -> tuple[str, ...]:
    """Return git's arguments to fetch the remote refs (values) into local refs (keys)."""
    return (
        *FETCH,
        *(option, "--", order.repository.url),
        *(f"+{theirs}:{ours}" for ours, theirs in refs.items()),
    )

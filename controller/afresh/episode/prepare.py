"""First stage: fetch what the episode starts from, and lay out what the agent is shown.

Owns the choice of the starting commit. Promises that nothing of the branch's history reaches the
worktree, and that the same head gives the same bytes and times there.
"""

from dataclasses import dataclass

from afresh.contract.order import Order
from afresh.contract.words import Outcome
from afresh.episode import credentials
from afresh.episode.ending import Ended
from afresh.episode.git import REMOTE_SECONDS, Git
from afresh.episode.git_faults import Fault, GitError
from afresh.episode.history import Commit, own_commits

HEAD_REF = "refs/afresh/head"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The commit that the work starts from.

    `expected` is what the branch must still be when the work is pushed; empty: not there.
    `commits` are the branch's own, newest first. `date` is the head's, in seconds since the epoch.
    """

    head: str
    expected: str
    date: int
    commits: tuple[Commit, ...] = ()


def fetch_start(git: Git, order: Order) -> Start:
    """Fetch the branch with its own commits, or the base if there is no branch yet.

    Raises Ended when the remote cannot be used.
    """
    try:
        return _from_branch(git, order)
    except GitError as error:
        if error.fault is not Fault.REF_MISSING:
            raise credentials.remote_problem(order, error) from error
    try:
        return _from_base(git, order)
    except GitError as error:
        if error.fault is not Fault.REF_MISSING:
            raise credentials.remote_problem(order, error) from error
        raise Ended(
            Outcome.CONFIG,
            f"The repository {credentials.public_url(order.repository.url)} has no ref "
            f'"{order.repository.base_ref}"; correct spec.repository.baseRef of the WorkPackage.',
        ) from error


def _from_branch(git: Git, order: Order) -> Start:
    branch = f"refs/heads/{order.repository.branch}"
    own = True
    try:
        _fetch(git, order, branch, f"--shallow-exclude={order.repository.base_ref}")
    except GitError as error:
        own = error.fault is not Fault.NOTHING_OWN
        if own and error.fault is not Fault.NO_EXCLUDE:
            raise
        _fetch_whole(git, order, branch) if own else _fetch(git, order, branch, "--depth=1")
    head = git.text("rev-parse", HEAD_REF)
    return Start(
        head=head,
        expected=head,
        date=_date(git),
        commits=own_commits(git, HEAD_REF) if own else (),
    )


def _from_base(git: Git, order: Order) -> Start:
    _fetch(git, order, order.repository.base_ref, "--depth=1")
    # A tag is followed to its commit.
    head = git.text("rev-parse", f"{HEAD_REF}^{{commit}}")
    return Start(head=head, expected="", date=_date(git))


def _fetch_whole(git: Git, order: Order, branch: str) -> None:
    """Without help from the server: everything, minus what the base holds."""
    _fetch(git, order, branch)
    base = "refs/afresh/base"
    git.run(*_arguments(order, order.repository.base_ref, base), timeout=REMOTE_SECONDS)
    border = git.text("rev-list", "--boundary", f"{base}..{HEAD_REF}").split()
    outside = [line.removeprefix("-") for line in border if line.startswith("-")]
    (git.git_dir / "shallow").write_text("".join(f"{commit}\n" for commit in outside))


def _fetch(git: Git, order: Order, ref: str, *options: str) -> None:
    git.run(*_arguments(order, ref, HEAD_REF, *options), timeout=REMOTE_SECONDS)


def _arguments(order: Order, ref: str, into: str, *options: str) -> list[str]:
    quiet = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"]
    return [*quiet, *options, "--", order.repository.url, f"+{ref}:{into}"]


def _date(git: Git) -> int:
    return int(git.text("show", "--no-patch", "--format=%ct", f"{HEAD_REF}^{{commit}}"))

"""Last stage: put the verified commit on the branch, if the branch is still where it was.

Owns the push. A push either moves the branch from the expected commit to this one, or does nothing.
"""

from afresh.contract.order import Order
from afresh.contract.words import Outcome
from afresh.episode.ending import Ended
from afresh.episode.repository import refusals
from afresh.episode.repository.git import REMOTE_SECONDS, Git
from afresh.episode.repository.git_faults import Fault, GitError
from afresh.episode.repository.prepare import Start


def push(git: Git, order: Order, start: Start, commit: str) -> None:
    """Push `commit` by compare-and-swap on what the branch was at the start. Raises Ended.

    The large files that it needs must be on the server: see `shown.publish`.
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
        if error.fault is Fault.MOVED:
            raise moved(order) from error
        raise refusals.remote_problem(order, error) from error


def is_refusal(ended: Ended) -> bool:
    """Whether a push that ended so was refused by the server: trying again does not help."""
    return ended.outcome in (Outcome.AUTH, Outcome.CONFIG)


def moved(order: Order) -> Ended:
    """Return how the episode ends when somebody else's push came first."""
    branch = order.repository.branch
    return Ended(Outcome.CONFLICT, f'The branch "{branch}" was changed by somebody else.')

"""The first steps of the runner: reads the Order and starts git's fetch.

The fetch starts before anything else. Importing the rest of the runner takes as long as the fetch
and is done meanwhile, so this file imports nothing that the fetch does not need.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from afresh.contract import codec
from afresh.contract.order import ORDER_VERSION, Order
from afresh.episode import credentials
from afresh.episode.git import authorship, fetching
from afresh.episode.git.fetching import BranchStart
from afresh.episode.git.repository import GitRepository, RunningGit
from afresh.episode.paths import Paths
from afresh.episode.stopped import SubtaskStopped

if TYPE_CHECKING:  # needed only if the repository has a claim for its mirror
    from afresh.episode.git.mirror import Mirror


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchUnderWay:
    """A running fetch, or the error that prevented it."""

    order: Order
    git: GitRepository
    fetch: RunningGit | None = None
    problem: Exception | None = None
    mirror: "Mirror | None" = None

    def start(self) -> BranchStart:
        """Wait for the fetch and return the commit that the work starts from.

        Raises SubtaskStopped, as `fetching.fetch_start` does, or the error that prevented the
        fetch.
        """
        if self.problem:
            raise self.problem
        if self.mirror and not self.mirror.is_attached:
            self.mirror.bring_up_to_date()
        try:
            return fetching.fetch_start(self.git, self.order, self.fetch)
        except SubtaskStopped as ended:
            if self.mirror is None or not self.mirror.is_to_blame(ended.__cause__):
                raise
        self.mirror.discard()
        self.git.recreate()
        return fetching.fetch_start(self.git, self.order)


def read_order(paths: Paths) -> Order:
    """Read the Order. Raises OSError if there is none, and ContractError if it is not valid."""
    order = codec.loads(Order, paths.order.read_text(encoding="utf-8"))
    if order.version != ORDER_VERSION:
        raise codec.ContractError(f"this runner knows no Order of version {order.version}")
    return order


def begin_fetch(order: Order, paths: Paths) -> FetchUnderWay:
    """Create the trusted repository and start to fetch the commits that the work starts from.

    Raises nothing: `FetchUnderWay.start` raises the error, once a Report can be written.
    """
    git = GitRepository(git_dir=paths.git_dir)
    try:
        credentials.write_git_credentials(order, paths)
        fetching.check_remote(order)
        git.create()
        authorship.prepare_key(order, paths)
        mirror = _mirror(order, paths, git)
        is_ready = mirror is None or mirror.attach()
        fetch = fetching.begin_fetch(git, order) if is_ready else None
        return FetchUnderWay(order=order, git=git, fetch=fetch, mirror=mirror)
    except Exception as problem:  # raised again by `start`, when there can be a Report
        return FetchUnderWay(order=order, git=git, problem=problem)


def _mirror(order: Order, paths: Paths, git: GitRepository) -> "Mirror | None":
    if order.repository.cache_claim_name is None or not order.tasks:
        return None
    from afresh.episode.git.mirror import Mirror  # noqa: PLC0415  # seldom needed

    return Mirror.of(paths.cache, git, order)

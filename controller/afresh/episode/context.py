"""The context that is passed to every stage of one episode.

It has no behaviour of its own; `run` builds it once.
"""

from dataclasses import dataclass

from afresh.contract.order import Order
from afresh.episode.container.channel import Channel
from afresh.episode.gateway.meter import Meter
from afresh.episode.git.repository import GitRepository
from afresh.episode.paths import Paths
from afresh.episode.reporting.log import Log
from afresh.episode.reporting.reporter import Reporter

# The names of the commands that run in the containers of agent and verify.
SETUP = "setup"
AGENT = "agent"
VERIFY = "verify"
FIND = "find"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeContext:
    """The Order, the paths, and the objects that stages use to act."""

    order: Order
    paths: Paths
    git: GitRepository
    log: Log
    meter: Meter
    reporter: Reporter
    agent_control: Channel
    verify_control: Channel

"""What every stage of one episode works with.

Owns no behaviour; `run` builds it once.
"""

from dataclasses import dataclass

from afresh.contract.order import Order
from afresh.episode.control import Control
from afresh.episode.gateway.meter import Meter
from afresh.episode.log import Log
from afresh.episode.paths import Paths
from afresh.episode.report import Reporter
from afresh.episode.repository.git import Git

# The commands that the agent's container and verify's run.
SETUP = "setup"
AGENT = "agent"
VERIFY = "verify"
FIND = "find"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """The Order, the places, and the ways to act."""

    order: Order
    paths: Paths
    git: Git
    log: Log
    meter: Meter
    reporter: Reporter
    agent_control: Control
    verify_control: Control

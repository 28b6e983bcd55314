"""Ends an agent that asks its model more often than it may, where no gateway counts that.

Owns when that is looked at: after every line that the program writes. What lines tell is the
adapter's, and the limit of a program that keeps one by itself is its own.
"""

from afresh.adapters.adapter import Reader, Verdict
from afresh.adapters.endings import USED_UP
from afresh.contract.abilities import gateway_api
from afresh.episode.context import EpisodeContext


class TurnCap:
    """The turns of one run of the agent. `verdict` says that it was ended, if it was."""

    def __init__(self, context: EpisodeContext, reader: Reader) -> None:
        self._work = context
        self._reader = reader
        self._is_kept_here = gateway_api(context.order.agent) is None
        self.verdict: Verdict | None = None

    def look(self) -> None:
        """Look at what the reader knows by now."""
        most = self._work.order.agent.max_turns
        if self._is_kept_here and not self.verdict and self._reader.asked > most:
            self.verdict = USED_UP
            self._work.log.say(f"ending the agent: {USED_UP.message}")
            self._work.agent_control.stop()

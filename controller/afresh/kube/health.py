"""Answers the probes for liveness and readiness, and names the part that is stuck.

Each part reports its own state. An unreachable API server does not count as stuck, because a
restart would not help.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from afresh.kube.http_message import Answer, Request
from afresh.kube.listener import Route
from afresh.logs import get_logger

log = get_logger()
Check = Callable[[], str | None]
"""Returns a sentence about what is stuck, or None if nothing is."""


@dataclass
class Health:
    """The answers to `/healthz` and `/readyz`."""

    checks: list[Check] = field(default_factory=list)
    waits_for: str | None = "the operator starts"
    """What the operator waits for before it is ready; None: nothing."""
    _told: list[str] = field(default_factory=list)

    def routes(self) -> dict[str, dict[str, Route]]:
        """Return the two routes. They answer 200, or 503 with the reasons, one per line."""
        return {"/healthz": {"GET": self._alive}, "/readyz": {"GET": self._ready}}

    async def _alive(self, _: Request) -> Answer:
        stuck = [said for check in self.checks if (said := check())]
        if stuck != self._told:
            log.warning("health", stuck=stuck)
            self._told = stuck
        return _answer(stuck)

    async def _ready(self, _: Request) -> Answer:
        return _answer([self.waits_for] if self.waits_for else [])


def _answer(reasons: list[str]) -> Answer:
    return Answer(503 if reasons else 200, ("\n".join(reasons or ["ok"]) + "\n").encode())

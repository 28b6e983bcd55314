"""Says whether the operator is alive, and what of it is stuck; and whether it is ready.

Each part tells by itself; nothing here looks into one. Being out of reach of the API server is not
being stuck: a new process would be no better off.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web

from afresh.logs import get_logger

log = get_logger()
Check = Callable[[], str | None]
"""Returns what is stuck as a sentence, or None when all goes on."""


@dataclass
class Health:
    """The answers to `/healthz` and `/readyz`."""

    checks: list[Check] = field(default_factory=list)
    waits_for: str | None = "the operator starts"
    """What is missing until the operator does its part; None: nothing."""
    _told: list[str] = field(default_factory=list)

    def routes(self) -> list[web.RouteDef]:
        """Return the two routes. They answer 200, or 503 with the reasons, a line each."""
        return [web.get("/healthz", self._alive), web.get("/readyz", self._ready)]

    async def _alive(self, _: web.Request) -> web.Response:
        stuck = [said for check in self.checks if (said := check())]
        if stuck != self._told:
            log.warning("health", stuck=stuck)
            self._told = stuck
        return _answer(stuck)

    async def _ready(self, _: web.Request) -> web.Response:
        return _answer([self.waits_for] if self.waits_for else [])


def _answer(reasons: list[str]) -> web.Response:
    return web.Response(status=503 if reasons else 200, text="\n".join(reasons or ["ok"]) + "\n")

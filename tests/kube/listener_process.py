"""The operator's two listeners in a process of its own, as much of it as floods can reach.

    python -m tests.kube.listener_process

Prints one line of JSON: the ports and the pin. `GET /standing` on the metrics port tells what the
floods cost: the longest time that the event loop was held up, and the most memory.
"""

import asyncio
import json
import resource
import sys
from pathlib import Path
from typing import Any

from afresh import clock, logs
from afresh.kube import report_server
from afresh.kube.cache import Cache
from afresh.kube.health import Health
from afresh.kube.http_message import Answer, Request
from afresh.kube.listener import Listener
from afresh.kube.operator import METRICS_LIMITS
from afresh.kube.queue import KeyQueue
from afresh.kube.report_keys import ReportKeys
from afresh.kube.report_server import ReportServer
from afresh.kube.scrape import Scrape
from afresh.metrics import registry

TURN_SECONDS = 0.005


class Standing:
    """What the process has cost since it was asked last."""

    def __init__(self) -> None:
        self.delays: list[float] = []

    async def watch(self) -> None:
        while True:
            before = clock.elapsed()
            await asyncio.sleep(TURN_SECONDS)
            self.delays.append(clock.elapsed() - before - TURN_SECONDS)

    async def answer(self, _: Request) -> Answer:
        delays, self.delays = sorted(self.delays), []
        told = {
            "worst_delay": delays[-1] if delays else 0,
            "usual_delay": delays[len(delays) // 2] if delays else 0,
            "kibibytes": resident(),
            "cpu": sum(resource.getrusage(resource.RUSAGE_SELF)[:2]),
        }
        return Answer(200, json.dumps(told).encode())


def resident() -> int:
    """Return the most memory that the process ever had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


async def main() -> None:
    logs.configure(level="INFO", form="json")
    nobody: Any = None  # no Job is known here, so the API server is never asked
    keys = ReportKeys(nobody, None)
    await keys.open()
    standing = Standing()
    health = Health(waits_for=None)
    reports = ReportServer(kube=nobody, cache=Cache(), queue=KeyQueue())
    hints = Listener(reports.routes(), report_server.LIMITS, keys.context, name="report")
    routes = {
        "/metrics": {"GET": Scrape(registry.REGISTRY).answer},
        "/standing": {"GET": standing.answer},
        **health.routes(),
    }
    probes = Listener(routes, METRICS_LIMITS, name="metrics")
    told = {
        "report": hints.open(0),
        "metrics": probes.open(0),
        "pins": keys.pins(),
        "kibibytes": resident(),
    }
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
    await standing.watch()


if __name__ == "__main__":
    asyncio.run(main())

"""A gateway in a process of its own, which may not take more memory than it is allowed.

As in a pod, nothing of the test's own counts.
"""

import asyncio
import multiprocessing
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from afresh.contract.report import Usage
from afresh.episode.gateway.bounds import ConnectionPatience
from tests.episode.gateway_client import make_gateway


@dataclass
class GatewayProcess:
    """Its address, and what it can be asked."""

    url: str
    pid: int
    pipe: Connection

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.url.removeprefix("http://").split(":")
        return host, int(port)

    def allow(self, more: int) -> None:
        """Let it take so many bytes more than it has now, and none besides."""
        kept = self._kib("VmData") << 10
        resource.prlimit(self.pid, resource.RLIMIT_DATA, (kept + more, kept + more))

    @property
    def peak(self) -> int:
        """The most memory that it has had, in bytes."""
        return self._kib("VmHWM") << 10

    async def usage(self) -> Usage:
        self.pipe.send("usage")
        return await asyncio.to_thread(self.pipe.recv)

    def _kib(self, name: str) -> int:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:")))


def serve(endpoint: str, patience: ConnectionPatience, model: str | None, pipe: Connection) -> None:
    gateway = make_gateway(endpoint, max_turns=1_000_000, model=model, patience=patience)
    gateway.open()
    pipe.send(gateway.url)
    while pipe.recv() == "usage":
        pipe.send(gateway.meter.usage())
    gateway.close()


@asynccontextmanager
async def gateway_process(
    endpoint: str, patience: ConnectionPatience, model: str | None = None
) -> AsyncIterator[GatewayProcess]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(endpoint, patience, model, theirs))
    process.start()
    try:
        url = await asyncio.to_thread(ours.recv)
        assert process.pid
        yield GatewayProcess(url, process.pid, ours)
        ours.send("end")
        await asyncio.to_thread(process.join, 60)
        assert process.exitcode == 0
    finally:
        process.kill()
        process.join()

"""How much later the first byte of an answer comes through the gateway than without it.

`python3 -m tests.bench.first_byte`; `make bench` runs it too. As in a pod, the gateway
has a process of its own.
"""

import asyncio
import multiprocessing
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

import aiohttp

from tests.episode.gateway_client import KEY, MESSAGES, make_gateway
from tests.episode.upstream import events, providing, streams

ROUNDS = 300
WARM_UP = 20
BODY = {"model": "claude-x", "messages": "x" * 50_000}


async def first_byte(client: aiohttp.ClientSession) -> float:
    """Return the seconds from the request to the first event."""
    began = time.perf_counter()
    async with client.post(MESSAGES, json=BODY, headers={"x-api-key": KEY}) as answer:
        await answer.content.readuntil(b"\n\n")
        seconds = time.perf_counter() - began
        await answer.read()
    return seconds


def serve(endpoint: str, pipe: Connection) -> None:
    """Be the gateway until told otherwise."""
    gateway = make_gateway(endpoint, max_turns=ROUNDS, model="claude-x")
    gateway.open()
    pipe.send(gateway.url)
    pipe.recv()
    gateway.close()


@contextmanager
def gateway_of(endpoint: str) -> Iterator[str]:
    """Run a gateway; give its URL."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(endpoint, theirs))
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("end")
        process.join(10)


async def measure() -> tuple[list[float], list[float]]:
    """Return the seconds without and with the gateway, asked by turns."""
    direct, through = [], []
    async with providing(streams(*events())) as provider:
        with gateway_of(provider.url) as url:
            async with (
                aiohttp.ClientSession(provider.url) as straight,
                aiohttp.ClientSession(url) as around,
            ):
                for _ in range(ROUNDS):
                    direct.append(await first_byte(straight))
                    through.append(await first_byte(around))
    return direct[WARM_UP:], through[WARM_UP:]


def main() -> None:
    """Measure, and print the medians in milliseconds."""
    direct, through = asyncio.run(measure())
    rows = {"straight from the provider": direct, "through the gateway": through}
    lines = [
        f"  {name:<44} {1000 * statistics.median(taken):6.2f}  [{1000 * min(taken):.2f}]"
        for name, taken in rows.items()
    ]
    share = 1000 * (statistics.median(through) - statistics.median(direct))
    head = "First byte of an answer, milliseconds: median [min]"
    goal = f"  {'the share of the gateway (goal: 5)':<44} {share:6.2f}"
    sys.stdout.write("\n".join((head, *lines, goal)) + "\n")


if __name__ == "__main__":
    main()

"""A way to the API server that a test can block: requests without an answer, silent watches.

It passes on what it is given, the token too. Must not know what the requests mean.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web

Matches = Callable[[web.Request], bool]


def nothing(_: web.Request) -> bool:
    """Match no request."""
    return False


@dataclass
class Gate:
    """What is held up, and what has come so far. `url` is where to ask."""

    upstream: str
    url: str = ""
    holds: Matches = nothing
    """Requests that are never answered while it says so."""
    mutes: Matches = nothing
    """Watches on which nothing but bookmarks is passed on."""
    refuses: Matches = nothing
    """Requests that are told to come again later."""
    held: list[str] = field(default_factory=list)
    muted: list[str] = field(default_factory=list)

    async def pass_on(self, request: web.Request) -> web.StreamResponse:
        """Ask upstream and hand its answer back as it comes."""
        while self.holds(request):
            self.held.append(request.path)
            await asyncio.sleep(0.1)
        if self.refuses(request):
            return web.json_response({"message": "come again later"}, status=503)
        headers = {
            name: value
            for name, value in request.headers.items()
            if name in ("Authorization", "Accept", "Content-Type")
        }
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session,
            session.request(
                request.method,
                self.upstream + request.raw_path,
                headers=headers,
                data=await request.read() or None,
                ssl=False,
            ) as answer,
        ):
            kind = {"Content-Type": answer.headers.get("Content-Type", "application/json")}
            response = web.StreamResponse(status=answer.status, headers=kind)
            with suppress(ConnectionResetError):  # who asked has given up
                await response.prepare(request)
                if "watch" in request.query:
                    await self._pass_events(request, answer, response)
                else:
                    await response.write(await answer.read())
            return response

    async def _pass_events(
        self, request: web.Request, answer: aiohttp.ClientResponse, response: web.StreamResponse
    ) -> None:
        async for line in answer.content:
            if self.mutes(request) and json.loads(line)["type"] != "BOOKMARK":
                self.muted.append(request.path)
            else:
                await response.write(line)


@asynccontextmanager
async def gate_to(upstream: str) -> AsyncIterator[Gate]:
    """Open a gate for as long as the block lasts."""
    gate = Gate(upstream)
    app = web.Application(client_max_size=4 * 1024 * 1024)
    app.router.add_route("*", "/{path:.*}", gate.pass_on)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    gate.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield gate
    finally:
        await runner.cleanup()
        await asyncio.sleep(0.5)  # connections with TLS end in later turns of the loop

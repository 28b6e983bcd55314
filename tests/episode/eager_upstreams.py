"""Providers that answer before they have read a request, and keep their connections.

Each tells what it saw: one that takes bytes literally, aiohttp's server, Node's and nginx. A wrong
length shows in what they see next.
"""

import asyncio
import json
import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from tests.episode.upstream import usage
from tests.programs import node_folder

ANSWER = json.dumps({"type": "message", "model": "claude-x", "usage": usage(input=1, output=1)})
# What the answer to a request that reached the provider has, and no other.
MARK = "Request-Id: upstream"
REFUSE = "refuse"
HEADERS = {"Content-Type": "application/json", "Request-Id": "upstream"}


@dataclass(frozen=True)
class Seen:
    """A request as a provider understood it; names of headers are lower case."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]


@dataclass
class Eager:
    """`broken`: what a provider could not understand."""

    url: str
    seen: list[Seen] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


Start = Callable[[Path], AbstractAsyncContextManager[Eager]]
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def end(writer: asyncio.StreamWriter) -> None:
    """Close a connection, and return when it is closed."""
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


@asynccontextmanager
async def listening(serve: Handler) -> AsyncIterator[int]:
    """Listen on a port for as long as the block lasts; every connection is closed after it."""
    tasks: set[asyncio.Task[None]] = set()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        tasks.add(task)
        try:
            with suppress(ConnectionError):
                await serve(reader, writer)
        finally:
            await end(writer)

    async with await asyncio.start_server(take, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def literal(_folder: Path) -> AsyncIterator[Eager]:
    """Take as many bytes for a body as its head says, whatever they are."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            except asyncio.IncompleteReadError as error:
                if error.partial:
                    eager.broken.append(repr(error.partial))
                break
            line, *fields = head.removesuffix("\r\n\r\n").split("\r\n")
            pairs = tuple((k.lower(), v.strip()) for k, _, v in (f.partition(":") for f in fields))
            method, url, *_ = [*line.split(" "), "", ""]
            received = dict(pairs)
            status = 400 if received.get("user-agent") == REFUSE else 200
            writer.write(
                f"HTTP/1.1 {status} x\r\nContent-Type: application/json\r\n{MARK}\r\n"
                f"Content-Length: {len(ANSWER)}\r\n\r\n{ANSWER}".encode()
            )
            try:
                body = await reader.readexactly(int(received.get("content-length", "0")))
            except asyncio.IncompleteReadError as error:
                eager.broken.append(repr(error.partial))
                break
            eager.seen.append(Seen(method, url, pairs, body))

    async with listening(serve) as port:
        eager = Eager(f"http://127.0.0.1:{port}")
        yield eager


@asynccontextmanager
async def aiohttps(_folder: Path) -> AsyncIterator[Eager]:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        status = 400 if request.headers.get("User-Agent") == REFUSE else 200
        response = web.Response(status=status, text=ANSWER, headers=HEADERS)
        await response.prepare(request)
        await response.write_eof()
        pairs = tuple((name.lower(), value) for name, value in request.headers.items())
        body = await request.content.read()
        eager.seen.append(Seen(request.method, request.path_qs, pairs, body))
        return response

    runner = web.ServerRunner(web.Server(handle), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    eager = Eager(f"http://127.0.0.1:{runner.addresses[0][1]}")
    try:
        yield eager
    finally:
        await runner.cleanup()


@asynccontextmanager
async def nodes(_folder: Path) -> AsyncIterator[Eager]:
    program = Path(__file__).with_name("eager_upstream.js")
    process = await asyncio.create_subprocess_exec(
        node_folder() / "node", program, ANSWER, stdout=subprocess.PIPE, limit=1 << 26
    )
    assert process.stdout

    async def listen() -> None:
        assert process.stdout
        async for line in process.stdout:
            received = json.loads(line)
            if "broken" in received:
                eager.broken.append(received["broken"])
                continue
            pairs = tuple((name.lower(), value) for name, value in received["headers"])
            seen = Seen(
                received["method"], received["url"], pairs, received["body"].encode("latin-1")
            )
            eager.seen.append(seen)

    port = json.loads(await process.stdout.readline())["port"]
    eager = Eager(f"http://127.0.0.1:{port}")
    listening = asyncio.create_task(listen())
    try:
        yield eager
    finally:
        process.terminate()
        await process.wait()
        await listening


@asynccontextmanager
async def nginxs(folder: Path) -> AsyncIterator[Eager]:
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("needs nginx")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, answer=ANSWER))
    process = await asyncio.create_subprocess_exec(
        program, "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "error.log",
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    eager = NginxLog(f"http://127.0.0.1:{port}", log=folder / "access.log")
    try:
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                assert process.returncode is None, (folder / "error.log").read_text()
                await asyncio.sleep(0.01)
                continue
            writer.close()
            break
        yield eager
    finally:
        process.terminate()
        await process.wait()


NGINX = """
daemon off; master_process off; pid {folder}/pid;
events {{ worker_connections 1024; }}
http {{
    log_format seen escape=json '["$request_method", "$request_uri", "$status",'
        ' "$http_x_api_key", "$http_content_length", "$http_transfer_encoding"]';
    access_log {folder}/access.log seen;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_requests 100000;
    client_header_timeout 5s; client_body_timeout 5s;
    server {{
        listen 127.0.0.1:{port};
        default_type application/json;
        add_header Request-Id upstream always;
        location / {{
            if ($http_user_agent = refuse) {{ return 400 '{answer}'; }}
            return 200 '{answer}';
        }}
    }}
}}
"""


class NginxLog(Eager):
    """nginx tells what it saw by its log, which has no bodies."""

    def __init__(self, url: str, log: Path) -> None:
        super().__init__(url)
        self._log = log

    def read(self) -> None:
        """Take in the log."""
        self.seen, self.broken = [], []
        for line in self._log.read_text().splitlines():
            method, url, status, key, length, coding = json.loads(line)
            if not url:
                if status != "000":
                    self.broken.append(line)
                continue
            pairs = [("x-api-key", key), ("content-length", length), ("transfer-encoding", coding)]
            headers = tuple(pair for pair in pairs if pair[1])
            self.seen.append(Seen(method, url, headers, b"x" * int(length or 0)))

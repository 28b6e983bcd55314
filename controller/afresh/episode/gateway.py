"""The agent's only way to its model: adds the key, forwards model requests, and meters them.

Owns the listening socket and the thread. Anybody in the pod can reach the socket, so nothing
passes before the agent starts or after it has ended. aiohttp is imported in that thread: the socket
listens at once, and early connections wait.
"""

import asyncio
import socket
import threading

from afresh.episode.log import Log
from afresh.episode.meter import Meter
from afresh.episode.model_api import Upstream

LOOPBACK = "127.0.0.1"
BACKLOG = 128
STOP_SECONDS = 5.0


class Gateway:
    """Serves on the pod's loopback from `start` to `close`; forwards from `admit` to `close`."""

    def __init__(self, upstream: Upstream, meter: Meter, log: Log) -> None:
        self.meter = meter
        self._upstream = upstream
        self._log = log
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._thread = threading.Thread(target=self._run, name="gateway", daemon=True)
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing = asyncio.Event()
        self._admits = False
        self._closed = False

    @property
    def url(self) -> str:
        """The base URL for the agent's program."""
        return f"http://{LOOPBACK}:{self._socket.getsockname()[1]}"

    def start(self, port: int) -> None:
        """Listen; port 0 takes a free one."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((LOOPBACK, port))
        self._socket.listen(BACKLOG)
        self._thread.start()

    def admit(self) -> None:
        """Forward from now on."""
        self._admits = True

    def close(self) -> None:
        """Forward nothing any more; what is under way is cut off and counted as far as it came."""
        self._admits = False
        with self._lock:
            self._closed = True
            if self._loop:
                self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:  # the top of the thread: the agent sees closed connections
            self._log.failure(error)
        finally:
            self._socket.close()

    async def _serve(self) -> None:
        from afresh.episode.forward import Forwarder, serving  # noqa: PLC0415  # costs 0.2 s

        with self._lock:
            self._loop = asyncio.get_running_loop()
            if self._closed:
                return
        async with (
            Forwarder(self._upstream, self.meter, lambda: self._admits) as forwarder,
            serving(forwarder, self._socket),
        ):
            await self._closing.wait()
        with self._lock:
            self._loop = None

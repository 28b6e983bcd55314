"""The agent's only way to its model: a listening socket, and a thread that serves it.

Owns when anything passes. Anybody in the pod can connect, so the socket listens from the agent's
start to its end only. What is served is `forward`'s, whose libraries are imported in the thread:
the socket listens at once, early connections wait, and an agent's program takes longer to start.
"""

import socket
import threading
from typing import TYPE_CHECKING

from afresh.episode.gateway.bounds import BACKLOG, PATIENCE, SOCKET_BUFFER, ConnectionPatience
from afresh.episode.gateway.meter import Meter
from afresh.episode.gateway.model_api import Upstream
from afresh.episode.reporting.log import Log

if TYPE_CHECKING:
    from afresh.episode.gateway.forward import Serving

LOOPBACK = "127.0.0.1"
STOP_SECONDS = 5.0


class Gateway:
    """Has its address from the beginning, and serves from `open` to `close`."""

    def __init__(
        self,
        upstream: Upstream,
        meter: Meter,
        log: Log,
        port: int,
        patience: ConnectionPatience = PATIENCE,
    ) -> None:
        self.meter = meter
        self._patience = patience
        self._upstream = upstream
        self._log = log
        # Named, or asyncio lets its connections hold small writes back.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        for buffer in (socket.SO_RCVBUF, socket.SO_SNDBUF):  # its connections inherit both
            self._socket.setsockopt(socket.SOL_SOCKET, buffer, SOCKET_BUFFER)
        self._share_address(True)  # with what is left of the gateway before
        self._socket.bind((LOOPBACK, port))
        self._share_address(False)  # what setup starts could else listen there first
        self._thread = threading.Thread(target=self._serve, name="gateway", daemon=True)
        self._lock = threading.Lock()
        self._serving: Serving | None = None
        self._closed = False
        self.url = f"http://{LOOPBACK}:{self._socket.getsockname()[1]}"

    def open(self) -> None:
        """Listen, and forward what comes."""
        self._share_address(True)  # its connections inherit it, for the gateway after this one
        self._socket.listen(BACKLOG)
        self._thread.start()

    def close(self) -> None:
        """Stop listening; what is under way is cut off and counted as far as it came."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._serving:
                self._serving.stop()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)
        self._socket.close()

    def _share_address(self, shares: bool) -> None:
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, shares)

    def _serve(self) -> None:
        try:
            from afresh.episode.gateway.forward import Serving  # noqa: PLC0415  # costs 0.2 s

            with self._lock:
                if self._closed:
                    return
                self._serving = Serving(self._upstream, self.meter, self._patience)
            self._serving.run(self._socket)
        except Exception as error:  # the top of the thread: the agent sees closed connections
            self._log.failure(error)
            with self._lock:
                self._serving = None
            self._socket.close()

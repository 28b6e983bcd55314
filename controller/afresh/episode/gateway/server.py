"""The agent's only way to its model: a listening socket, and a thread that serves it.

Owns when requests are accepted. Any process in the pod can connect, so the socket listens only from
the start of the agent to its end. `forward` serves the requests. Its libraries are imported in the
thread: the socket listens at once, early connections wait, and the import is usually faster than
the start of an agent program.
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
    """The gateway of one agent's run. It has its address at once, and serves after `open`."""

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
        # asyncio sets TCP_NODELAY only if the protocol is named.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        for buffer in (socket.SO_RCVBUF, socket.SO_SNDBUF):  # its connections inherit both
            self._socket.setsockopt(socket.SOL_SOCKET, buffer, SOCKET_BUFFER)
        self._share_address(True)  # with connections left from the gateway before
        self._socket.bind((LOOPBACK, port))
        self._share_address(False)  # or a process that setup starts could listen there first
        self._thread = threading.Thread(target=self._serve, name="gateway", daemon=True)
        self._lock = threading.Lock()
        self._serving: Serving | None = None
        self._closed = False
        self.url = f"http://{LOOPBACK}:{self._socket.getsockname()[1]}"

    def open(self) -> None:
        """Start to listen and to serve requests."""
        self._share_address(True)  # connections inherit it, for the next gateway
        self._socket.listen(BACKLOG)
        self._thread.start()

    def close(self) -> None:
        """Stop listening; requests under way are aborted, and counted as far as they got."""
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

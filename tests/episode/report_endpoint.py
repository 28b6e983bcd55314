"""The operator's report endpoint, as far as a runner sees it."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from afresh.contract.report import Report, parse
from afresh.kube.certificate import make_key, pin_of_key, server_context


@cache
def a_key() -> str:
    return asyncio.run(make_key())


@contextmanager
def listening(status: int = 200) -> Iterator[tuple[dict[str, Any], list[tuple[str, Report]]]]:
    """A report endpoint, as fields of an Order; what it got is kept as (Authorization, Report)."""
    got: list[tuple[str, Report]] = []

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.headers["Authorization"], parse(body.decode())))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    key = a_key()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    server.socket = server_context(key).wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"https://127.0.0.1:{server.server_port}/reports"
        yield {"report_url": url, "report_pins": (pin_of_key(key),)}, got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

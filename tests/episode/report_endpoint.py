"""The operator's report endpoint, as far as a runner sees it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from afresh.contract.report import Report, parse


@contextmanager
def listening(status: int = 200) -> Iterator[tuple[str, list[tuple[str, Report]]]]:
    """A report endpoint; what it got is kept as (Authorization, Report)."""
    got: list[tuple[str, Report]] = []

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.headers["Authorization"], parse(body.decode())))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/reports", got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

"""A provider's address that keeps every request for the model and passes it on."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

PASSED = ("authorization", "content-type", "x-api-key", "x-goog-api-key")


@contextmanager
def recording(port: int) -> Iterator[tuple[int, list[str]]]:
    """Stand before the provider on `port`; give the new port and the bodies of the requests."""
    asked: list[str] = []

    class Recorder(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(body.decode())
            headers = {name: self.headers[name] for name in PASSED if name in self.headers}
            with closing(HTTPConnection("127.0.0.1", port, timeout=120)) as provider:
                provider.request("POST", self.path, body, headers)
                answer = provider.getresponse()
                content = answer.read()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers["Content-Type"])
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port, asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

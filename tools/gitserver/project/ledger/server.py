"""The only file that listens: HTTP requests for the API on the loopback interface."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer

from ledger.api import Api, Request


class ApiServer(HTTPServer):
    """Serves `api` on 127.0.0.1; port 0 takes a free one, see `server_port`."""

    def __init__(self, api: Api, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.api = api


class _Handler(BaseHTTPRequestHandler):
    server: ApiServer

    def _answer(self) -> None:
        length = int(self.headers.get("content-length", 0))
        request = Request(
            method=self.command,
            path=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(length),
        )
        response = self.server.api.handle(request)
        body = json.dumps(response.body).encode()
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = _answer

    def log_message(self, format: str, *args: object) -> None:
        """Keep the terminal quiet: the client says what went wrong."""

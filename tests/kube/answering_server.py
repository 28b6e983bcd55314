"""A server on loopback that gives prepared answers, in place of an API server."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answers = list[tuple[int, Any]]


@contextmanager
def server(answers: Answers) -> Iterator[tuple[int, list[tuple[str, str, str]]]]:
    """Give the port of an API server that answers so, and a list of what it was asked."""
    asked: list[tuple[str, str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length).decode()
            asked.append((self.path, self.headers.get("Authorization", ""), body))
            status, answer = answers.pop(0)
            if status == 0:
                self.close_connection = True
                return
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield listening.server_port, asked
        finally:
            listening.shutdown()
            thread.join()

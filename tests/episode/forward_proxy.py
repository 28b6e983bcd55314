"""A forward proxy as companies have one: run as a program, it passes on what it is asked to.

It prints its port, and then the first line of each request that it gets.
"""

import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Proxy(BaseHTTPRequestHandler):
    """Tunnels CONNECT, and passes on POST with an absolute URL."""

    def do_CONNECT(self) -> None:
        """Open a tunnel; what passes through it stays unread."""
        host, _, port = self.path.rpartition(":")
        self._tell()
        self.send_response(200)
        self.end_headers()
        with socket.create_connection((host, int(port)), timeout=120) as there:
            back = threading.Thread(target=pump, args=(there, self.connection))
            back.start()
            pump(self.connection, there)
            back.join()
        self.close_connection = True

    def do_POST(self) -> None:
        """Ask the server that the URL names."""
        self._tell()
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        head = f"POST {parts.path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n"
        with socket.create_connection((parts.hostname, parts.port), timeout=120) as there:
            there.sendall(head.encode() + body)
            pump(there, self.connection)
        self.close_connection = True

    def _tell(self) -> None:
        report(self.requestline)

    def log_message(self, *_: object) -> None:
        return


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Pass on all that comes, and its end."""
    try:
        while piece := source.recv(65536):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return


def report(what: object) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    report(server.server_port)
    server.serve_forever()

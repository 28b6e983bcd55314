r"""Serves git repositories over smart HTTP with basic authentication, with `git http-backend`.

    python3 -m tools.gitserver.git_server --root /data \
        --username-file /s/username --password-file /s/password

Owns who may call the backend, and the transfer of bytes in both directions. It must not know the
content of a repository.
"""

import argparse
import base64
import binascii
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http import HTTPStatus
from io import BufferedReader
from pathlib import Path
from subprocess import PIPE
from typing import BinaryIO, cast

from tools.gitserver.sample_repository import create_repository, git_environment
from tools.http_wire import (
    ALL_ADDRESSES,
    PIECE_BYTES,
    BrokenBodyError,
    WireHandler,
    WireServer,
    body_pieces,
    is_secret,
    read_secret,
    serve_until_term,
)

_PROJECT = Path(__file__).parent / "project"
_SAMPLE = "ledger.git"

# Matched against the path as it was sent, so that no encoding can hide a slash or a dot.
_REPOSITORY = r"/(?P<repository>[A-Za-z0-9][A-Za-z0-9._-]*\.git)"
_CALLS = {
    "GET": re.compile(_REPOSITORY + r"/info/refs\?service=git-(?:upload|receive)-pack"),
    "POST": re.compile(_REPOSITORY + r"/git-(?:upload|receive)-pack"),
}


class GitServer(WireServer):
    """Serves the bare repositories directly under `root`."""

    def __init__(
        self, address: tuple[str, int], root: Path, username_file: Path, password_file: Path
    ) -> None:
        super().__init__(address, _GitHandler)
        self.root = root
        self.username_file = username_file
        self.password_file = password_file


class _GitHandler(WireHandler):
    server: GitServer

    def do_GET(self) -> None:  # noqa: N802 - the inherited name
        if self.path == "/healthz":
            self.answer(HTTPStatus.OK, b"ok\n", {"content-type": "text/plain"})
            return
        self._call_backend()

    def do_POST(self) -> None:  # noqa: N802 - the inherited name
        self._call_backend()

    def handle_expect_100(self) -> bool:
        """Ask for the body only of a request that will be served."""
        refusal = self._refusal()
        if refusal is None:
            return super().handle_expect_100()
        self._refuse(*refusal)
        return False

    def _refusal(self) -> tuple[HTTPStatus, str] | None:
        if not self._is_authenticated():
            return HTTPStatus.UNAUTHORIZED, "a user name and a password are needed"
        call = _CALLS[self.command].fullmatch(self.path) if self.command in _CALLS else None
        if call is None or not self._is_served(call["repository"]):
            return HTTPStatus.NOT_FOUND, "there is no such repository, or no such call"
        return None

    def _is_authenticated(self) -> bool:
        scheme, _, encoded = self.headers.get("authorization", "").partition(" ")
        try:
            user, _, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
        except (binascii.Error, ValueError):
            return False
        # Both are always compared, so that the time does not reveal which one is wrong.
        fits = [
            is_secret(user, self.server.username_file),
            is_secret(password, self.server.password_file),
        ]
        return scheme.lower() == "basic" and all(fits)

    def _is_served(self, name: str) -> bool:
        repository = self.server.root / name
        return (repository / "HEAD").is_file() and not repository.is_symlink()

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        # The rest of the body would be read as the next request.
        self.close_connection = True
        headers = {"content-type": "text/plain"}
        if status is HTTPStatus.UNAUTHORIZED:
            headers["www-authenticate"] = 'Basic realm="git"'
        self.answer(status, f"{reason}\n".encode(), headers)

    def _call_backend(self) -> None:
        refusal = self._refusal()
        if refusal is not None:
            self._refuse(*refusal)
            return
        try:
            body = body_pieces(self.headers, self.rfile)
        except BrokenBodyError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
            return
        environment = self._backend_environment()
        with subprocess.Popen(
            ["git", "http-backend"],
            env=environment,
            stdin=PIPE,
            stdout=PIPE,
            start_new_session=True,
        ) as backend:
            pump = threading.Thread(target=self._pump, args=(body, backend), daemon=True)
            pump.start()
            try:
                self._relay(cast("BufferedReader", backend.stdout))
            except OSError:
                os.killpg(backend.pid, signal.SIGTERM)
                raise
            finally:
                pump.join()

    def _backend_environment(self) -> dict[str, str]:
        path, _, query = self.path.partition("?")
        environment = git_environment() | {
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "REMOTE_ADDR": str(self.client_address[0]),
            "REMOTE_USER": "git",  # The client is authenticated here.
        }
        for header, variable in (
            ("content-type", "CONTENT_TYPE"),
            ("content-length", "CONTENT_LENGTH"),
            ("content-encoding", "HTTP_CONTENT_ENCODING"),
            ("git-protocol", "GIT_PROTOCOL"),
        ):
            if header in self.headers:
                environment[variable] = self.headers[header]
        if "transfer-encoding" in self.headers:
            environment.pop("CONTENT_LENGTH", None)
        return environment

    def _pump(self, body: Iterator[bytes], backend: "subprocess.Popen[bytes]") -> None:
        backend_input = cast("BinaryIO", backend.stdin)
        # Read the whole body even if the backend has ended: the client reads only afterwards.
        is_open = True
        try:
            for piece in body:
                try:
                    if is_open:
                        backend_input.write(piece)
                except BrokenPipeError:
                    is_open = False
        except (BrokenBodyError, OSError):
            self.close_connection = True
            # It knows how long the body is, and would read the end of its input again and again.
            os.killpg(backend.pid, signal.SIGTERM)
        finally:
            _close_quietly(backend_input)

    def _relay(self, backend_output: BufferedReader) -> None:
        status, headers = _read_head(backend_output)
        self.start_chunks(status, headers)
        while piece := backend_output.read1(PIECE_BYTES):
            self.send_chunk(piece)
        self.send_chunk(b"")


def _close_quietly(pipe: BinaryIO) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return  # The backend ended before it took the last bytes.


def _read_head(backend_output: BufferedReader) -> tuple[int, dict[str, str]]:
    status, headers = 0, {}
    while line := backend_output.readline().decode("latin-1").strip():
        name, _, value = line.partition(": ")
        if name.lower() == "status":
            status = int(value[:3])
        else:
            headers[name.lower()] = value
    if not headers:
        return HTTPStatus.INTERNAL_SERVER_ERROR, {"content-type": "text/plain"}
    return status or HTTPStatus.OK, headers


def main() -> int:
    """Create the sample repository if it is missing, and serve until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--root", type=Path, required=True, help="folder of bare repositories; must be writable"
    )
    parser.add_argument("--username-file", type=Path, required=True)
    parser.add_argument("--password-file", type=Path, required=True)
    parser.add_argument("--host", default=ALL_ADDRESSES, help="address to listen on (default: all)")
    parser.add_argument(
        "--port", type=int, default=8080, help="0 selects a free port (default: 8080)"
    )
    args = parser.parse_args()
    root = args.root.resolve()
    try:
        for path in (args.username_file, args.password_file):
            read_secret(path)
        root.mkdir(parents=True, exist_ok=True)
        create_repository(root / _SAMPLE, _PROJECT)
        address = (args.host, args.port)
        server = GitServer(address, root, args.username_file, args.password_file)
    except OSError as error:
        print(f"git_server: {error.filename or 'port'}: {error.strerror}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(
            f"git_server: cannot create {_SAMPLE} in {root}: {error.stderr.strip()}",
            file=sys.stderr,
        )
        return 1
    with server:
        serve_until_term(server)
    return 0


if __name__ == "__main__":
    sys.exit(main())

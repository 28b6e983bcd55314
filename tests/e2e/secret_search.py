"""Runs as the agent: looks for secrets in everything that it can reach, and writes where they are.

Its input is JSON from the first argument, in base64 so that the values stand nowhere in clear:
`secrets` by name. Every place is a line of found.txt, with the name of the secret.
"""

import base64
import json
import os
import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

PATHS = ("/", "/v1/models", "/v1/files", "/v1/messages", "/metrics")
LISTENING = "0A"
HELD_BY_THE_RUNNER = ("/var/run/secrets", "/afresh/secrets", "/afresh/token", "/afresh/git")


def environments() -> Iterator[tuple[str, bytes]]:
    """Yield what the processes show."""
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("environ", "cmdline", "mountinfo"):
            yield from read(process / name)


def files() -> Iterator[tuple[str, bytes]]:
    """Yield every file that can be read."""
    for folder, folders, names in os.walk("/"):
        if folder == "/":
            folders[:] = [name for name in folders if name not in ("proc", "sys", "dev")]
        for name in names:
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                yield from read(path)


def read(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what stands in a file, if it can be read."""
    try:
        yield str(path), path.read_bytes()
    except OSError:
        return


def answers() -> Iterator[tuple[str, bytes]]:
    """Yield what is answered on loopback, whoever listens there."""
    ports = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:]:
            _, local, _, state = line.split()[:4]
            if state == LISTENING:
                ports.add(int(local.rpartition(":")[2], 16))
    for port in sorted(ports):
        for path in PATHS:
            yield f"127.0.0.1:{port}{path}", ask(port, path)


def ask(port: int, path: str) -> bytes:
    """Return the whole answer, with its headers."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        while piece := connection.recv(65536):
            received += piece
    return received


def search(secrets: dict[str, bytes]) -> Iterator[str]:
    """Yield a line for every place of every secret."""
    for source in (environments(), files(), answers()):
        for place, content in source:
            yield from (f"{name} in {place}" for name, value in secrets.items() if value in content)


def main() -> None:
    """Search, and write down what was found and how much was seen."""
    given = json.loads(base64.b64decode(sys.argv[1]))
    secrets = {name: value.encode() for name, value in given.items()}
    held = [f"a folder of the runner's in {path}" for path in HELD_BY_THE_RUNNER if exists(path)]
    write("found.txt", [*search(secrets), *held])
    commands = [text for place, text in environments() if place.endswith("cmdline")]
    write("processes.txt", [printable(text) for text in commands])
    write("heard.txt", [f"{place} {printable(text[:12])}" for place, text in answers()])


def exists(path: str) -> bool:
    """Whether something is there, or it cannot be known."""
    try:
        return Path(path).exists()
    except OSError:
        return True


def printable(text: bytes) -> str:
    """Return the beginning of a text on one line."""
    return re.sub(r"[^ -~]+", " ", text.decode(errors="replace"))[:80]


def write(name: str, lines: list[str]) -> None:
    """Write a file of lines."""
    Path(name).write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()

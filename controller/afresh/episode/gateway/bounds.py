"""Limits on the memory and the time of the runner that the agent can use through the gateway.

Owns the numbers and their sum. A faulty or hostile agent opens as many connections and sends as
much as it can. The runner must survive, since it knows what the work has cost. Imports nothing that
is slow to load.
"""

from dataclasses import dataclass

MIB = 1 << 20

# No known program uses more at once. At the limit, the connection that was idle longest is closed.
CONNECTIONS = 64
BACKLOG = 128
HEAD_LIMIT = 32 << 10
READ_BUFFER = 64 << 10
WRITE_BUFFER = 64 << 10
# What asyncio reads from a socket at once, in addition to our buffer.
PIECE = 256 << 10
# The kernel's buffer of a connection in each direction; the kernel doubles the given value.
SOCKET_BUFFER = 64 << 10
# For the agent's connection and the one to the provider together.
PER_CONNECTION = 2 * (READ_BUFFER + WRITE_BUFFER + PIECE + 4 * SOCKET_BUFFER)

BODY_LIMIT = 16 * MIB
SMALL = 256 << 10
SMALL_AT_ONCE = 64
LARGE_AT_ONCE = 4
# A body, and its copy while it is assembled or rewritten.
COPIES = 2
# Only one body is parsed at a time. Parsed text takes up to PARSED times its bytes, and each value
# VALUE_BYTES more. Without a limit on values, many small lists would take 36 times their bytes.
PARSED = 12
VALUES = 400_000
VALUE_BYTES = 250

# Unread parts of all answers together. Only one answer is parsed at a time, without a limit on its
# values, but it has at most half the length of a request.
ANSWERS = 32 * MIB
# Python allocates more than the current size for a growing buffer.
GROWTH = 9 / 8

# A program that is refused while it sends must be able to read why; these bytes are dropped.
DROPPED_LIMIT = 2 * BODY_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionPatience:
    """How many seconds the gateway waits for the agent program."""

    idle: float = 3630.0  # a tool of the agent may run long between two requests
    head: float = 10.0
    body: float = 120.0
    end: float = 10.0


PATIENCE = ConnectionPatience()


def most_memory() -> int:
    """Return the maximum number of bytes that the agent can make the gateway hold at once."""
    bodies = LARGE_AT_ONCE * BODY_LIMIT + SMALL_AT_ONCE * SMALL
    parsed = PARSED * BODY_LIMIT + VALUES * VALUE_BYTES
    answers = int(GROWTH * ANSWERS)
    return CONNECTIONS * PER_CONNECTION + COPIES * bodies + answers + parsed

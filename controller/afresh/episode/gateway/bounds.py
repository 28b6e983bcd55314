"""How much of the runner's memory and time the agent may hold by way of the gateway.

Owns the numbers and their sum. An agent that is out of its mind, or hostile, opens as many
connections as it can and sends as much as it can: the runner must live, for it knows what the work
has cost. Imports nothing that is slow to load.
"""

from dataclasses import dataclass

MIB = 1 << 20

# More are under way at once with no program; of idle ones, the oldest makes room.
CONNECTIONS = 64
BACKLOG = 128
HEAD_LIMIT = 32 << 10
READ_BUFFER = 64 << 10
WRITE_BUFFER = 64 << 10
# What asyncio takes from a socket at once, besides what is in our buffer.
PIECE = 256 << 10
# What the kernel keeps of a connection in each direction; it doubles what it is told.
SOCKET_BUFFER = 64 << 10
# Of the agent's connection and of the one to the provider.
PER_CONNECTION = 2 * (READ_BUFFER + WRITE_BUFFER + PIECE + 4 * SOCKET_BUFFER)

BODY_LIMIT = 16 * MIB
SMALL = 256 << 10
SMALL_AT_ONCE = 64
LARGE_AT_ONCE = 4
# A body, and the same while it is put together or written anew.
COPIES = 2
# Only one at a time is parsed. Texts take up to this many times the bytes they came in, and each
# value so many bytes more: without a limit on values, many small lists take 36 times theirs.
PARSED = 12
VALUES = 400_000
VALUE_BYTES = 250

# What is kept of all answers until it can be read. One of them at a time is parsed: without a limit
# on its values, but of half the length that a request may have.
ANSWERS = 32 * MIB
# A buffer that grows has room for more.
GROWTH = 9 / 8

# A program that is refused while it sends must be able to read why; nothing of this is kept.
DROPPED_LIMIT = 2 * BODY_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionPatience:
    """For how many seconds the agent's program is waited for."""

    idle: float = 3630.0  # its tool may run for long between two requests
    head: float = 10.0
    body: float = 120.0
    end: float = 10.0


PATIENCE = ConnectionPatience()


def most_memory() -> int:
    """Return how many bytes the agent can make the gateway hold at once."""
    bodies = LARGE_AT_ONCE * BODY_LIMIT + SMALL_AT_ONCE * SMALL
    parsed = PARSED * BODY_LIMIT + VALUES * VALUE_BYTES
    answers = int(GROWTH * ANSWERS)
    return CONNECTIONS * PER_CONNECTION + COPIES * bodies + answers + parsed

"""The interface of a provider's API to the gateway, and the values to which answers are reduced.

Knows no provider; each has a file of its own. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Any, Protocol

from afresh.episode.gateway.request_reading import RequestReader


class Route(Enum):
    """What the gateway does with a request."""

    GENERATE = auto()  # forwarded, counted as a turn, metered
    FORWARD = auto()  # forwarded: counting tokens, listing models
    LOCAL = auto()  # answered here: a CLI checks whether the endpoint responds
    FORBIDDEN = auto()


class ModelFault(Enum):
    """Why a request to the model did not get a complete answer."""

    KEY_REFUSED = auto()
    NO_CREDIT = auto()
    RATE_LIMITED = auto()
    UNAVAILABLE = auto()  # overloaded, 5xx
    UNREACHABLE = auto()  # no connection, or one that broke
    SILENT = auto()  # it has the request, and sends nothing for longer than the class allows
    EMPTY = auto()
    UNTRUSTED = auto()  # its certificate cannot be verified
    NOT_THERE = auto()  # no such model, or no such API at that address
    TOO_LONG = auto()  # the conversation does not fit into the model's context, or a limit
    REJECTED = auto()  # anything else; the agent's own mistake


@dataclass(slots=True, kw_only=True)
class TokenCounts:
    """The token counts of one answer. Later counts of a stream replace earlier ones."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def all(self) -> int:
        """The sum of all four kinds."""
        return self.input + self.output + self.cache_read + self.cache_write

    def add(self, more: "TokenCounts") -> None:
        """Add the counts of `more`."""
        self.input += more.input
        self.output += more.output
        self.cache_read += more.cache_read
        self.cache_write += more.cache_write


@dataclass(slots=True, kw_only=True)
class ModelAnswer:
    """One answer of the model, filled in while it passes through the gateway.

    `began`: some of it has arrived. `stopping`: its content is complete; only the final count may
    be missing. `ended`: the answer is complete. `unread`: this many bytes were too long to be read,
    and no count has arrived after them. `is_counted`: a count of its output has arrived, which is
    the final one if the answer is `stopping` too. `is_over`: its body has ended.
    """

    model: str = ""
    tokens: TokenCounts
    began: bool = False
    stopping: bool = False
    ended: bool = False
    unread: int = 0
    is_counted: bool = False
    is_over: bool = False
    fault: ModelFault | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """Where requests to the model are sent, with which key, and under which limits.

    `agent_key` is what a request of the agent must have to be sent; None: nothing.
    """

    api: "ModelApi"
    endpoint: str
    key: str
    agent_key: str | None = None
    model: str | None
    authorities: Path
    silence_seconds: float = 120.0
    allows_server_tools: bool = False


class ModelApi(Protocol):
    """One provider's API. `requests` reads its requests."""

    default_endpoint: str
    requests: RequestReader

    def route(self, method: str, path: str) -> Route:
        """Return what the gateway does with a request."""
        ...

    def key_headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        ...

    def is_passed_header(self, name: str) -> bool:
        """Whether a header of the agent (name in lower case) is sent to the provider."""
        ...

    def is_returned_header(self, name: str) -> bool:
        """Whether a header of an answer (name in lower case) is returned to the agent."""
        ...

    def passed_query(self, path: str, query: str) -> str:
        """Return the query to send: the allowed part of `query`, or a fixed one."""
        ...

    def with_model(self, path: str, asked: dict[str, Any], model: str) -> str:
        """Set the model of a request whose JSON body is `asked`; return the path to use.

        For a request without a body, `asked` is an empty object that is not sent.
        """
        ...

    def make_metered(self, path: str, asked: dict[str, Any]) -> None:
        """Change the JSON body `asked` so that the answer reports its usage."""
        ...

    def take_event(self, answer: ModelAnswer, event: Mapping[str, Any]) -> None:
        """Update `answer` with one event of a stream."""
        ...

    def take_message(self, answer: ModelAnswer, message: Mapping[str, Any]) -> None:
        """Update `answer` with a whole message that was not streamed."""
        ...

    def fault_of(self, status: int, body: bytes) -> ModelFault:
        """Return why the API refused a request."""
        ...

    def reset_time(self, headers: Mapping[str, str], body: bytes, now: float) -> float | None:
        """Return when the limit of a refusal ends, in seconds since the epoch; None if unknown.

        The names in `headers` are in lower case. `now` is in seconds since the epoch.
        """
        ...

    def refusal(self, message: str) -> bytes:
        """Return the body of an error with `message`, in the API's format."""
        ...

"""What the gateway must know of a provider's API, and the values that answers are reduced to.

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
    LOCAL = auto()  # answered here: a CLI looking whether somebody is there
    FORBIDDEN = auto()


class ModelFault(Enum):
    """Why a request for the model did not get a whole answer."""

    KEY_REFUSED = auto()
    NO_CREDIT = auto()
    RATE_LIMITED = auto()
    UNAVAILABLE = auto()  # overloaded, 5xx
    UNREACHABLE = auto()  # no connection, or one that broke
    SILENT = auto()  # it has the request, and says nothing for longer than the class allows
    EMPTY = auto()
    UNTRUSTED = auto()  # its certificate cannot be verified
    NOT_THERE = auto()  # no such model, or no such API at that address
    TOO_LONG = auto()  # the conversation does not fit into the model's context, or a limit
    REJECTED = auto()  # anything else; the agent's own mistake


@dataclass(slots=True, kw_only=True)
class TokenCounts:
    """What one answer counted. Later numbers of a stream replace earlier ones."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def all(self) -> int:
        """All four kinds added."""
        return self.input + self.output + self.cache_read + self.cache_write

    def add(self, more: "TokenCounts") -> None:
        """Count `more` besides."""
        self.input += more.input
        self.output += more.output
        self.cache_read += more.cache_read
        self.cache_write += more.cache_write


@dataclass(slots=True, kw_only=True)
class ModelAnswer:
    """One answer of the model, filled in while it passes by.

    `stopping`: the model has said its last word; only the count of what it has cost may be missing.
    `unread`: so many bytes were too long to be read, and no count has come after them.
    `is_counted`: a count of its output has come, the last one if it is `stopping` too. `is_over`:
    the provider has said everything.
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
    """Where requests for the model go, and with what."""

    api: "ModelApi"
    endpoint: str
    key: str
    model: str | None
    authorities: Path
    silence_seconds: float = 120.0
    allows_server_tools: bool = False


class ModelApi(Protocol):
    """One provider's API. Its requests are read by `requests`."""

    default_endpoint: str
    requests: RequestReader

    def route(self, method: str, path: str) -> Route:
        """Return what is to be done with a request."""
        ...

    def key_headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        ...

    def is_passed_header(self, name: str) -> bool:
        """Whether a header (lower case) of the agent's reaches the provider: no other does."""
        ...

    def is_returned_header(self, name: str) -> bool:
        """Whether a header (lower case) of an answer reaches the agent: limits, mostly."""
        ...

    def passed_query(self, path: str, query: str) -> str:
        """Return the part of a request's query that may reach the provider, or what must."""
        ...

    def with_model(self, path: str, asked: dict[str, Any], model: str) -> str:
        """Set the model of a request whose JSON body is `asked`; return its path.

        A request without a body has an `asked` that goes nowhere.
        """
        ...

    def make_metered(self, path: str, asked: dict[str, Any]) -> None:
        """Have a request whose JSON body is `asked` be answered with what it has used."""
        ...

    def take_event(self, answer: ModelAnswer, event: Mapping[str, Any]) -> None:
        """Take in one event of a streamed answer."""
        ...

    def take_message(self, answer: ModelAnswer, message: Mapping[str, Any]) -> None:
        """Take in a whole answer that was not streamed."""
        ...

    def fault_of(self, status: int, body: bytes) -> ModelFault:
        """Return why the API refused a request."""
        ...

    def reset_time(self, headers: Mapping[str, str], body: bytes, now: float) -> float | None:
        """Return when a refusal says that a limit ends, in seconds since the epoch.

        `headers` have names in lower case.
        """
        ...

    def refusal(self, message: str) -> bytes:
        """Return the body of an error in the API's own form."""
        ...

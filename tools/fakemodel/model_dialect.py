"""What a provider's API needs to be spoken: its routes, its key, its messages, streams and errors.

Each API is one `Dialect` in a file of its own, named in model_server.py's DIALECTS. This file also
holds what they share. It must not know scripts or sockets.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Any, Protocol

from tools.fakemodel.model_behaviours import ApiRefusal
from tools.fakemodel.model_script import Conversation
from tools.fakemodel.model_tools import ModelTurn

_CHARACTERS_PER_TOKEN = 4
_TEXT_PIECE = 24
_JSON_PIECE = 2000
# How a user's message begins that the agent program has made up itself.
_MADE_UP = (
    "<system-reminder>",
    "# 1 SEARCH/REPLACE block",
    "I added these files to the chat",
    "I have *added these files to the chat*",
    "I am not sharing",
    "I updated the files.",
    "Here are summaries of some files",
    "Here are some READ ONLY files",
    "Output token limit hit.",
    "The connection dropped mid-response.",
)


class Operation(Enum):
    """What a request wants of the API."""

    CONVERSE = auto()
    COUNT = auto()
    MODELS = auto()


@dataclass(frozen=True, slots=True)
class MessageRequest:
    """A request for a message, understood; `body` is what was sent."""

    conversation: Conversation
    body: dict[str, Any]
    model: str
    is_stream: bool


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """A refusal as the API says it."""

    status: int
    body: dict[str, Any]
    headers: Mapping[str, str]


class ApiRefusedError(Exception):
    """A request that cannot be answered."""

    def __init__(self, refusal: ApiRefusal) -> None:
        super().__init__(refusal.message or refusal.reason.value)
        self.refusal = refusal


class Dialect(Protocol):
    """One provider's API. It keeps nothing between calls; header names come in lower case."""

    def claims(self, path: str, headers: Mapping[str, str]) -> bool:
        """Tell whether a request is meant for this API; the path comes without its query."""

    def route(self, method: str, path: str) -> Operation | None:
        """Return what is wanted, or None where the API has no such path."""

    def key_of(self, headers: Mapping[str, str]) -> str:
        """Return the key that a request carries, or an empty text."""

    def read(self, path: str, body: dict[str, Any]) -> MessageRequest:
        """Understand a request for a message or a count.

        Raises RefusedError, or LookupError, TypeError, ValueError or AttributeError where the body
        has not the form of the API's requests.
        """

    def message(self, asked: MessageRequest, turn: ModelTurn) -> dict[str, Any]:
        """Return the whole answer, with its usage."""

    def stream(self, asked: MessageRequest, turn: ModelTurn) -> Iterator[bytes]:
        """Yield the same answer as server-sent events, one at a time, a text in several."""

    def count(self, asked: MessageRequest) -> dict[str, Any]:
        """Return how many tokens the request would be."""

    def models(self) -> dict[str, Any]:
        """Return the page of models."""

    def refuse(self, refusal: ApiRefusal, now: datetime) -> ErrorAnswer:
        """Return the error that says `refusal`, at the time `now`."""


def is_made_up(text: str) -> bool:
    """Tell whether the agent program says this by itself in the user's name."""
    return text.startswith(_MADE_UP)


def count_tokens(value: object) -> int:
    """Return how many tokens a JSON value counts for: four characters each, at least one."""
    return max(1, len(json.dumps(value)) // _CHARACTERS_PER_TOKEN)


def text_pieces(text: str) -> list[str]:
    """Return a text in the pieces in which it is streamed."""
    return _pieces(text, _TEXT_PIECE)


def json_pieces(value: object) -> list[str]:
    """Return the JSON of a tool's arguments in the pieces in which it is streamed."""
    return _pieces(json.dumps(value), _JSON_PIECE)


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]

"""The interface of a provider's API: its routes, its key, its messages, streams and errors.

Each API is one `Dialect` in a file of its own, listed in DIALECTS of model_server.py. This file
also has what they share. It must not know scripts or sockets.
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
# The beginnings of user messages that the agent program itself has generated.
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
    """The kind of a request to the API."""

    CONVERSE = auto()
    COUNT = auto()
    MODELS = auto()


@dataclass(frozen=True, slots=True)
class MessageRequest:
    """A parsed request for a message; `body` is the JSON that was sent."""

    conversation: Conversation
    body: dict[str, Any]
    model: str
    is_stream: bool


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """An error answer in the API's format."""

    status: int
    body: dict[str, Any]
    headers: Mapping[str, str]


class ApiRefusedError(Exception):
    """A request that cannot be answered."""

    def __init__(self, refusal: ApiRefusal) -> None:
        super().__init__(refusal.message or refusal.reason.value)
        self.refusal = refusal


class Dialect(Protocol):
    """One provider's API. It has no state; header names are passed in lower case."""

    def claims(self, path: str, headers: Mapping[str, str]) -> bool:
        """Return whether a request is meant for this API; `path` has no query."""

    def route(self, method: str, path: str) -> Operation | None:
        """Return the kind of a request; None if the API has no such path."""

    def key_of(self, headers: Mapping[str, str]) -> str:
        """Return the key of a request, or an empty string."""

    def read(self, path: str, body: dict[str, Any]) -> MessageRequest:
        """Parse a request for a message or a count.

        Raises ApiRefusedError; or LookupError, TypeError, ValueError or AttributeError if the body
        is not a valid request of the API.
        """

    def message(self, asked: MessageRequest, turn: ModelTurn) -> dict[str, Any]:
        """Return the complete answer, with its usage."""

    def stream(self, asked: MessageRequest, turn: ModelTurn) -> Iterator[bytes]:
        """Yield the same answer as server-sent events; a text takes several events."""

    def count(self, asked: MessageRequest) -> dict[str, Any]:
        """Return the answer with the request's number of tokens."""

    def models(self) -> dict[str, Any]:
        """Return the list of models."""

    def refuse(self, refusal: ApiRefusal, now: datetime) -> ErrorAnswer:
        """Return the error answer for `refusal`, at the time `now`."""


def is_made_up(text: str) -> bool:
    """Return whether the agent program itself generated this user message."""
    return text.startswith(_MADE_UP)


def count_tokens(value: object) -> int:
    """Return the number of tokens of a JSON value: one for each four characters, at least one."""
    return max(1, len(json.dumps(value)) // _CHARACTERS_PER_TOKEN)


def text_pieces(text: str) -> list[str]:
    """Return a text divided into the pieces in which it is streamed."""
    return _pieces(text, _TEXT_PIECE)


def json_pieces(value: object) -> list[str]:
    """Return the JSON of a tool's arguments, divided into the pieces in which it is streamed."""
    return _pieces(json.dumps(value), _JSON_PIECE)


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]

"""Reads the model's answers as they pass through the gateway, in bounded memory.

Owns the two forms that an answer comes in, a stream of events and one JSON message. What is in them
is the provider's file; of what is too long to be read, the bytes are counted.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from afresh.episode.container.lines import LineReader, OutputLine
from afresh.episode.gateway.model_api import ModelAnswer, ModelApi, ModelFault, TokenCounts

MESSAGE_LIMIT = 8 << 20
# Where each piece carries counts, the longest is a whole file of 65,536 tokens.
EVENT_LIMIT = 2 << 20


class Room:
    """How many bytes more of all answers together are kept until they can be read."""

    def __init__(self, left: int) -> None:
        self.left = left


class AnswerReader:
    """Reads one answer, and must be closed. Where there is no room, its bytes are counted."""

    def __init__(self, api: ModelApi, content_type: str, room: Room) -> None:
        self.answer = ModelAnswer(tokens=TokenCounts())
        self._api = api
        self._streamed = content_type.startswith("text/event-stream")
        self._lines = LineReader(EVENT_LIMIT)
        self._body = bytearray()
        self._size = 0
        self._has_unread = False
        self._room = room
        self._held = 0

    def feed(self, data: bytes) -> None:
        """Take in a piece of the body."""
        if not self._streamed:
            self._take_piece(data)
            return
        self._take_lines(self._lines.feed(data))
        if not self._holds(self._lines.kept):
            self._lines.drop()
            self._holds(0)

    def close(self) -> None:
        """Give back the room that is held."""
        self._holds(0)

    def end(self) -> None:
        """Take in that the body is over, and tell an answer that is not whole."""
        answer = self.answer
        answer.is_over = True
        self._take_lines(self._lines.end())  # programs read a last line without an end, too
        if not self._streamed and not self._has_unread:
            self._api.take_message(answer, _json(self._body.decode(errors="replace")))
        if self._has_unread and answer.fault is None:  # its last word may have been there
            answer.stopping = answer.ended = True
        if answer.fault is None and not answer.ended:
            answer.fault = ModelFault.UNREACHABLE if answer.began else ModelFault.EMPTY

    def broken(self) -> None:
        """Take in that the connection broke before the body was over."""
        if not self.answer.ended:
            self.answer.fault = ModelFault.UNREACHABLE

    def _take_piece(self, data: bytes) -> None:
        self._size += len(data)
        if not self._has_unread and self._size <= MESSAGE_LIMIT and self._holds(self._size):
            self._body += data
            return
        self._body = bytearray()
        self._holds(0)
        self.answer.began = self._has_unread = True
        self.answer.unread = self._size

    def _holds(self, size: int) -> bool:
        """Hold room for so many bytes instead of what was held; False where there is none."""
        more = size - self._held
        if more > self._room.left:
            return False
        self._room.left -= more
        self._held = size
        return True

    def _take_lines(self, lines: Iterable[OutputLine]) -> None:
        for line in lines:
            if line.cut or line.text.startswith("data:"):
                self._take_event(line)

    def _take_event(self, line: OutputLine) -> None:
        answer = self.answer
        if line.cut:
            answer.began = self._has_unread = True
            answer.unread += len(line.text.encode()) + line.cut
            return
        output = answer.tokens.output
        self._api.take_event(answer, _json(line.text.removeprefix("data:")))
        if answer.tokens.output != output:
            answer.unread = 0


def _json(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}

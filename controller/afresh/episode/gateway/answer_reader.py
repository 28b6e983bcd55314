"""Reads the model's answers as they pass through the gateway, in bounded memory.

Owns the two forms that an answer comes in, a stream of events and one JSON message. What is in them
is the provider's file.
"""

import json
from collections.abc import Mapping
from typing import Any

from afresh.episode.gateway.model_api import Answer, Fault, ModelApi, Tokens
from afresh.episode.lines import LineReader

MESSAGE_LIMIT = 8 << 20
# Where each piece carries counts, the longest is a whole file of 65,536 tokens.
EVENT_LIMIT = 2 << 20


class AnswerReader:
    """Reads one answer."""

    def __init__(self, api: ModelApi, content_type: str) -> None:
        self.answer = Answer(tokens=Tokens())
        self._api = api
        self._streamed = content_type.startswith("text/event-stream")
        self._lines = LineReader(EVENT_LIMIT)
        self._body = bytearray()

    def feed(self, data: bytes) -> None:
        """Take in a piece of the body."""
        if not self._streamed:
            if len(self._body) <= MESSAGE_LIMIT:
                self._body += data
            return
        for line in self._lines.feed(data):
            if line.text.startswith("data:") and not line.cut:
                event = _json(line.text.removeprefix("data:"))
                self._api.take_event(self.answer, event)

    def end(self) -> None:
        """Take in that the body is over, and tell an answer that is not whole."""
        answer = self.answer
        if not self._streamed and len(self._body) <= MESSAGE_LIMIT:
            self._api.take_message(answer, _json(self._body.decode(errors="replace")))
        if answer.fault is None and not answer.ended:
            answer.fault = Fault.UNREACHABLE if answer.began else Fault.EMPTY

    def broken(self) -> None:
        """Take in that the connection broke before the body was over."""
        if not self.answer.ended:
            self.answer.fault = Fault.UNREACHABLE


def _json(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}

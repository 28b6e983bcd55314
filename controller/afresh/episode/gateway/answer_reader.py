"""Reads the model's answers as they pass through the gateway, in bounded memory.

Owns the two forms of an answer: a stream of events, and one JSON message. The files in `providers`
read their content. What is too long to be read is only counted, in bytes.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from afresh.episode.container.lines import LineReader, OutputLine
from afresh.episode.gateway.model_api import ModelAnswer, ModelApi, ModelFault, TokenCounts

MESSAGE_LIMIT = 8 << 20
# The longest event is a whole file of 65,536 tokens, from a provider that counts in every event.
EVENT_LIMIT = 2 << 20


class MemoryQuota:
    """The memory for unread parts of all answers together: `left` bytes may still be used."""

    def __init__(self, left: int) -> None:
        self.left = left


class AnswerReader:
    """Reads one answer, and must be closed. Without memory left, it only counts the bytes."""

    def __init__(self, api: ModelApi, content_type: str, quota: MemoryQuota) -> None:
        self.answer = ModelAnswer(tokens=TokenCounts())
        self._api = api
        self._streamed = content_type.startswith("text/event-stream")
        self._lines = LineReader(EVENT_LIMIT)
        self._body = bytearray()
        self._size = 0
        self._has_unread = False
        self._quota = quota
        self._held = 0

    def feed(self, data: bytes) -> None:
        """Read a piece of the body."""
        if not self._streamed:
            self._take_piece(data)
            return
        self._take_lines(self._lines.feed(data))
        if not self._holds(self._lines.kept):
            self._lines.drop()
            self._holds(0)

    def close(self) -> None:
        """Release the memory that is held."""
        self._holds(0)

    def end(self) -> None:
        """Note the end of the body; set a fault if the answer is incomplete."""
        answer = self.answer
        answer.is_over = True
        self._take_lines(self._lines.end())  # programs accept a last line without a line end
        if not self._streamed and not self._has_unread:
            self._api.take_message(answer, _json(self._body.decode(errors="replace")))
        if self._has_unread and answer.fault is None:  # the end of the answer may be unread
            answer.stopping = answer.ended = True
        if answer.fault is None and not answer.ended:
            answer.fault = ModelFault.UNREACHABLE if answer.began else ModelFault.EMPTY

    def broken(self) -> None:
        """Note that the connection broke before the end of the body."""
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
        """Hold memory for `size` bytes in place of what was held; False if there is too little."""
        more = size - self._held
        if more > self._quota.left:
            return False
        self._quota.left -= more
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

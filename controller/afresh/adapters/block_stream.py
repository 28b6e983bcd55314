"""What the readers of Claude Code and Qwen Code have in common.

Both programs print messages in content blocks, and a `result` event at the end. This module does
not know the error messages of either. Pure.
"""

import json
import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from afresh.adapters.adapter import Verdict
from afresh.adapters.endings import TEXT_LENGTH
from afresh.adapters.event_stream import EventReader
from afresh.contract.text import shortened

# Qwen Code prints two ids before `is_error`.
RESULT_HEAD = re.compile(
    r'^\{"type":"result","subtype":"(?P<subtype>\w+)"'
    r'(?:,"uuid":"[^"]{0,40}","session_id":"[^"]{0,40}")?,"is_error":(?P<is_error>true|false)'
)


class BlockReader(EventReader):
    """Reads the events of one run. The last `result` event decides the result."""

    def __init__(self, *, behind_gateway: bool) -> None:
        super().__init__(behind_gateway=behind_gateway)
        self._result: Mapping[str, Any] | None = None

    def _take_truncated(self, line: str) -> Mapping[str, Any] | None:
        head = RESULT_HEAD.match(line)  # the line is truncated, but begins with the result
        if head is None:
            return None
        is_error = head["is_error"] == "true"
        return {"type": "result", "subtype": head["subtype"], "is_error": is_error}

    def _take(self, event: Mapping[str, Any]) -> str | None:
        self._note_session(event.get("session_id"))
        if event.get("type") == "result":
            self._result = event
        return self._described(event)

    def _described(self, event: Mapping[str, Any]) -> str | None:
        match event.get("type"):
            case "assistant" | "user":
                return _described_blocks(event)
            case "result":
                return f"result: {event.get('subtype')}, error: {event.get('is_error')}"
            case "system" if event.get("subtype") == "init":
                return f"model: {event.get('model')}"
        return None

    def _judge(self, exit_code: int) -> Verdict:
        """Success is a `result` event without an error, and exit code 0; neither is enough."""
        result = self._result
        if result is None:
            return self._without_result(exit_code)
        is_good = result.get("subtype") == "success" and result.get("is_error") is False
        if is_good and exit_code == 0:
            return Verdict()
        return self._failure(self._error_text(result), exit_code)

    @abstractmethod
    def _error_text(self, result: Mapping[str, Any]) -> str:
        """Return the error message in a `result` event, or "" if it has none."""


def _described_blocks(event: Mapping[str, Any]) -> str | None:
    """Return one line for each text, tool call and tool result in the event's message.

    Returns None if the message has none of them.
    """
    message = event.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return None
    texts = [_block(block) for block in content if isinstance(block, dict)]
    return "\n".join(" ".join(text.split()) for text in texts if text) or None


def _block(block: Mapping[str, Any]) -> str | None:
    match block.get("type"):
        case "text":
            return str(block.get("text"))
        case "tool_use":
            return f"{block.get('name')}: {shortened(json.dumps(block.get('input')), TEXT_LENGTH)}"
        case "tool_result":
            failed = " failed" if block.get("is_error") else ""
            return f"-> {shortened(_plain(block.get('content')), TEXT_LENGTH)}{failed}"
    return None


def _plain(content: object) -> str:
    if isinstance(content, list):
        texts = [str(item.get("text", "")) for item in content if isinstance(item, dict)]
        return " ".join(texts)
    return str(content)

"""Log lines for messages in content blocks, as Claude Code and Qwen Code print them.

This module does not know any program. Pure.
"""

import json
from collections.abc import Mapping
from typing import Any

from afresh.adapters.endings import TEXT_LENGTH
from afresh.contract.text import shortened


def described_blocks(event: Mapping[str, Any]) -> str | None:
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

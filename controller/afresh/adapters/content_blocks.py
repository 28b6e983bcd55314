"""Lines for people from messages in blocks of content, as Claude Code and Qwen Code write them.

Knows no program, and decides nothing. Pure.
"""

import json
from collections.abc import Mapping
from typing import Any

from afresh.adapters.endings import TEXT_LENGTH
from afresh.contract.text import shortened


def described_blocks(event: Mapping[str, Any]) -> str | None:
    """Return what the event's message says, asks of a tool or was answered: a line for each."""
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

"""Writes replies as the Messages API does: one JSON message, or a stream of events, with usage.

It must not know scripts or HTTP.
"""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from model_script import Reply

MODELS = ("claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5")

_CHARACTERS_PER_TOKEN = 4
_UNCACHED_TOKENS = 4
_TEXT_PIECE = 24
_JSON_PIECE = 2000


def build_message(body: dict[str, Any], reply: Reply) -> dict[str, Any]:
    """Return the whole answer to the request `body`."""
    seed = hashlib.sha256(json.dumps(body["messages"]).encode()).hexdigest()
    text = [{"type": "text", "text": reply.text}] if reply.text or not reply.calls else []
    uses = [
        {
            "type": "tool_use",
            "id": f"toolu_{seed[:20]}{number:02}",
            "name": call.name,
            "input": call.input,
        }
        for number, call in enumerate(reply.calls)
    ]
    return {
        "id": f"msg_{seed[:24]}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [*text, *uses],
        "stop_reason": "tool_use" if uses else "end_turn",
        "stop_sequence": None,
        "usage": {
            **_input_usage(body),
            "output_tokens": _tokens([*text, *uses]),
            "service_tier": "standard",
        },
    }


def stream_events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events that carry `message`, in order."""
    usage = message["usage"]
    start = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    yield {"type": "ping"}
    for index, block in enumerate(message["content"]):
        yield from _block_events(index, block)
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {
        "type": "message_delta",
        "delta": end,
        "usage": {"output_tokens": usage["output_tokens"]},
    }
    yield {"type": "message_stop"}


def server_sent(event: dict[str, Any]) -> bytes:
    """Return `event` as a server-sent event."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def error_body(kind: str, message: str) -> dict[str, Any]:
    """Return an error as the API writes it."""
    return {"type": "error", "error": {"type": kind, "message": message}}


def count_tokens(body: dict[str, Any]) -> dict[str, int]:
    """Return how many tokens the request `body` would be."""
    return {"input_tokens": _prompt_tokens(body, body["messages"])}


def list_models() -> dict[str, Any]:
    """Return the page of models."""
    created = datetime(2025, 10, 1, tzinfo=UTC).isoformat()
    models = [
        {
            "type": "model",
            "id": model,
            "display_name": model.replace("-", " ").title(),
            "created_at": created,
        }
        for model in MODELS
    ]
    return {"data": models, "has_more": False, "first_id": MODELS[0], "last_id": MODELS[-1]}


def _input_usage(body: dict[str, Any]) -> dict[str, int]:
    # As with prompt caching: what the request before held is read, what came since then is written.
    messages = body["messages"]
    answered = max(
        (i for i, message in enumerate(messages) if message["role"] == "assistant"), default=0
    )
    cached = _prompt_tokens(body, messages[:answered]) if answered else 0
    return {
        "input_tokens": _UNCACHED_TOKENS,
        "cache_creation_input_tokens": _prompt_tokens(body, messages) - cached,
        "cache_read_input_tokens": cached,
    }


def _prompt_tokens(body: dict[str, Any], messages: list[dict[str, Any]]) -> int:
    return _tokens([body.get("system", []), body.get("tools", []), messages])


def _tokens(value: object) -> int:
    return max(1, len(json.dumps(value)) // _CHARACTERS_PER_TOKEN)


def _block_events(index: int, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        empty: dict[str, Any] = {"type": "text", "text": ""}
        deltas = [
            {"type": "text_delta", "text": piece} for piece in _pieces(block["text"], _TEXT_PIECE)
        ]
    else:
        empty = {**block, "input": {}}
        written = json.dumps(block["input"])
        deltas = [
            {"type": "input_json_delta", "partial_json": piece}
            for piece in _pieces(written, _JSON_PIECE)
        ]
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]

"""The Anthropic Messages API of the scripted model.

Owns the API's formats: requests, messages, streams of events, usage and errors. It must not know
scripts or sockets.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tools.fakemodel.model_behaviours import ApiRefusal, ApiRefusalReason
from tools.fakemodel.model_dialect import (
    ApiRefusedError,
    ErrorAnswer,
    MessageRequest,
    Operation,
    count_tokens,
    is_made_up,
    json_pieces,
    text_pieces,
)
from tools.fakemodel.model_script import Conversation
from tools.fakemodel.model_tools import ModelTurn

MODELS = ("claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5")

_UNCACHED_TOKENS = 4
_ROUTES = {
    ("POST", "/v1/messages"): Operation.CONVERSE,
    ("POST", "/v1/messages/count_tokens"): Operation.COUNT,
    ("GET", "/v1/models"): Operation.MODELS,
}
_ERRORS = {
    ApiRefusalReason.UNAUTHORIZED: (401, "authentication_error", "invalid x-api-key"),
    ApiRefusalReason.NO_CREDIT: (
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API.",
    ),
    ApiRefusalReason.RATE_LIMITED: (429, "rate_limit_error", "The rate limit is exceeded"),
    ApiRefusalReason.SERVER_ERROR: (500, "api_error", "Internal server error"),
    ApiRefusalReason.UNAVAILABLE: (503, "api_error", "Service unavailable"),
    ApiRefusalReason.OVERLOADED: (529, "overloaded_error", "Overloaded"),
    ApiRefusalReason.BAD_REQUEST: (400, "invalid_request_error", "this is not a Messages request"),
    ApiRefusalReason.NOT_FOUND: (404, "not_found_error", "there is nothing here"),
    ApiRefusalReason.TOO_LARGE: (413, "request_too_large", "the request is too large"),
}


class AnthropicMessages:
    """See `model_dialect.Dialect`."""

    def claims(self, path: str, headers: Mapping[str, str]) -> bool:
        """Recognize the API by its paths."""
        return path.startswith("/v1/messages") or (path == "/v1/models" and "x-api-key" in headers)

    def route(self, method: str, path: str) -> Operation | None:
        """Offer messages, a count of their tokens, and the list of models."""
        return _ROUTES.get((method, path))

    def key_of(self, headers: Mapping[str, str]) -> str:
        """Return the key, which has a header of its own."""
        return headers.get("x-api-key", "")

    def read(self, path: str, body: dict[str, Any]) -> MessageRequest:  # noqa: ARG002 - the body says it all
        """Parse a request; every model whose name begins with `claude-` exists."""
        conversation = read_conversation(body)
        model = str(body.get("model", ""))
        if not model.startswith("claude-"):
            raise ApiRefusedError(
                ApiRefusal(ApiRefusalReason.NOT_FOUND, f"model: {body.get('model')}")
            )
        return MessageRequest(conversation, body, model, bool(body.get("stream")))

    def message(self, asked: MessageRequest, turn: ModelTurn) -> dict[str, Any]:
        """Return one message with text and uses of tools."""
        return build_message(asked.body, turn)

    def stream(self, asked: MessageRequest, turn: ModelTurn) -> Iterator[bytes]:
        """Yield the events, each named by its type."""
        for event in stream_events(build_message(asked.body, turn)):
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()

    def count(self, asked: MessageRequest) -> dict[str, Any]:
        """Return the number of input tokens."""
        return {"input_tokens": _prompt_tokens(asked.body, asked.body["messages"])}

    def models(self) -> dict[str, Any]:
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

    def refuse(self, refusal: ApiRefusal, now: datetime) -> ErrorAnswer:
        """Return the error; for a rate limit it also says when the limit ends."""
        status, kind, usual = _ERRORS[refusal.reason]
        headers = {}
        if refusal.retry_after is not None:
            reset = now + timedelta(seconds=refusal.retry_after)
            headers = {
                "retry-after": str(refusal.retry_after),
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": reset.isoformat(timespec="seconds"),
            }
        error = {"type": kind, "message": refusal.message or usual}
        return ErrorAnswer(status, {"type": "error", "error": error}, headers)


def read_conversation(body: dict[str, Any]) -> Conversation:
    """Return the latest brief in a request, and the results of each turn since then."""
    brief, briefs, turns = "", 0, []
    for message in body["messages"]:
        blocks = _blocks(message["content"])
        results = [_text_of(block) for block in blocks if block.get("type") == "tool_result"]
        if message["role"] == "assistant" and any(
            block.get("type") == "tool_use" for block in blocks
        ):
            turns.append("")
        elif results and turns:
            turns[-1] = "\n".join([turns[-1], *results]).strip("\n")
        elif message["role"] == "user" and (text := _said_by_user(blocks)):
            brief, briefs, turns = text, briefs + 1, []
    return Conversation(
        brief=brief,
        briefs=briefs,
        results=tuple(turns),
        tools=frozenset(str(tool.get("name")) for tool in body.get("tools", [])),
        instructions="\n".join(_text_of(block) for block in _blocks(body.get("system", ""))),
    )


def build_message(body: dict[str, Any], turn: ModelTurn) -> dict[str, Any]:
    """Return the whole answer to the request `body`."""
    seed = hashlib.sha256(json.dumps(body["messages"]).encode()).hexdigest()
    text = [{"type": "text", "text": turn.text}] if turn.text or not turn.uses else []
    uses = [
        {
            "type": "tool_use",
            "id": f"toolu_{seed[:20]}{number:02}",
            "name": use.name,
            "input": use.input,
        }
        for number, use in enumerate(turn.uses)
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
            "output_tokens": count_tokens([*text, *uses]),
            "service_tier": "standard",
        },
    }


def stream_events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream with `message`, in order."""
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


def _block_events(index: int, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        empty: dict[str, Any] = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in text_pieces(block["text"])]
    else:
        empty = {**block, "input": {}}
        deltas = [
            {"type": "input_json_delta", "partial_json": piece}
            for piece in json_pieces(block["input"])
        ]
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _input_usage(body: dict[str, Any]) -> dict[str, int]:
    # As with prompt caching: the content of the request before is read, the rest is written.
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
    return count_tokens([body.get("system", []), body.get("tools", []), messages])


def _blocks(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _said_by_user(blocks: list[dict[str, Any]]) -> str:
    texts = [_text_of(block) for block in blocks if block.get("type") == "text"]
    return "\n".join(text for text in texts if not is_made_up(text))


def _text_of(block: dict[str, Any]) -> str:
    content = block.get("text") or block.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(_text_of(part) for part in content)

"""The OpenAI Chat Completions API of the scripted model.

Owns the API's formats: requests, completions and chunks. It must not know scripts or sockets.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from tools.fakemodel import openai_forms
from tools.fakemodel.model_behaviours import ApiRefusal
from tools.fakemodel.model_dialect import (
    ErrorAnswer,
    MessageRequest,
    Operation,
    count_tokens,
    json_pieces,
    text_pieces,
)
from tools.fakemodel.model_script import Conversation
from tools.fakemodel.model_tools import ModelTurn

_PATH = "/v1/chat/completions"


class OpenAiChat:
    """See `model_dialect.Dialect`."""

    def claims(self, path: str, headers: Mapping[str, str]) -> bool:  # noqa: ARG002
        """Recognize the API by its path."""
        return path == _PATH

    def route(self, method: str, path: str) -> Operation | None:
        """Offer completions only."""
        return Operation.CONVERSE if (method, path) == ("POST", _PATH) else None

    def key_of(self, headers: Mapping[str, str]) -> str:
        """Return the bearer token."""
        return openai_forms.bearer_key(headers)

    def read(self, path: str, body: dict[str, Any]) -> MessageRequest:  # noqa: ARG002 - the body says it all
        """Parse a request; every model whose name begins with `gpt-` exists."""
        conversation = read_conversation(body)
        return MessageRequest(
            conversation, body, openai_forms.known_model(body), bool(body.get("stream"))
        )

    def message(self, asked: MessageRequest, turn: ModelTurn) -> dict[str, Any]:
        """Return one completion with text and tool calls."""
        message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
        calls = _calls(asked, turn)
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": _finish(turn)}
        return {
            **_head(asked, "chat.completion"),
            "choices": [choice],
            "usage": _usage(asked, turn),
        }

    def stream(self, asked: MessageRequest, turn: ModelTurn) -> Iterator[bytes]:
        """Yield the chunks, with a chunk for the usage only if the request asks for it."""
        head = _head(asked, "chat.completion.chunk")
        for delta, finish in _deltas(asked, turn):
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            yield _data({**head, "choices": [choice]})
        if (asked.body.get("stream_options") or {}).get("include_usage"):
            yield _data({**head, "choices": [], "usage": _usage(asked, turn)})
        yield b"data: [DONE]\n\n"

    def count(self, asked: MessageRequest) -> dict[str, Any]:
        """Return the number of input tokens, although the API has no path for it."""
        return {"prompt_tokens": _usage(asked, ModelTurn())["prompt_tokens"]}

    def models(self) -> dict[str, Any]:
        """Return the list of models."""
        return openai_forms.models_page()

    def refuse(self, refusal: ApiRefusal, now: datetime) -> ErrorAnswer:  # noqa: ARG002
        """Return the error; for a rate limit it also says how long the limit lasts."""
        return openai_forms.refuse(refusal)


def read_conversation(body: dict[str, Any]) -> Conversation:
    """Return the latest brief in a request, and the results of each turn since then."""
    brief, briefs, turns, instructions = "", 0, [], []
    for message in body["messages"]:
        text = openai_forms.text_of(message.get("content"))
        match message["role"]:
            case "system" | "developer":
                instructions.append(text)
            case "assistant" if message.get("tool_calls"):
                turns.append("")
            case "tool" if turns:
                turns[-1] = "\n".join([turns[-1], text]).strip("\n")
            case "user" if said := openai_forms.said_by_user(message.get("content")):
                brief, briefs, turns = said, briefs + 1, []
    return Conversation(
        brief=brief,
        briefs=briefs,
        results=tuple(turns),
        tools=frozenset(str(tool["function"]["name"]) for tool in body.get("tools") or []),
        instructions="\n".join(instructions),
    )


def _head(asked: MessageRequest, kind: str) -> dict[str, Any]:
    seed = openai_forms.seed_of(asked.body["messages"])
    return {"id": f"chatcmpl-{seed[:24]}", "object": kind, "created": 0, "model": asked.model}


def _calls(asked: MessageRequest, turn: ModelTurn) -> list[dict[str, Any]]:
    seed = openai_forms.seed_of(asked.body["messages"])
    return [
        {
            "id": f"call_{seed[:20]}{number:02}",
            "type": "function",
            "function": {"name": use.name, "arguments": json.dumps(use.input)},
        }
        for number, use in enumerate(turn.uses)
    ]


def _finish(turn: ModelTurn) -> str:
    return "tool_calls" if turn.uses else "stop"


def _deltas(asked: MessageRequest, turn: ModelTurn) -> Iterator[tuple[dict[str, Any], str | None]]:
    yield {"role": "assistant", "content": ""}, None
    for piece in text_pieces(turn.text):
        yield {"content": piece}, None
    for number, call in enumerate(_calls(asked, turn)):
        function = {"name": call["function"]["name"], "arguments": ""}
        yield {"tool_calls": [{**call, "index": number, "function": function}]}, None
        for piece in json_pieces(turn.uses[number].input):
            yield {"tool_calls": [{"index": number, "function": {"arguments": piece}}]}, None
    yield {}, _finish(turn)


def _usage(asked: MessageRequest, turn: ModelTurn) -> dict[str, Any]:
    messages = asked.body["messages"]
    answered = max(
        (i for i, message in enumerate(messages) if message["role"] == "assistant"), default=0
    )
    sent, cached = openai_forms.input_tokens(asked.body.get("tools"), messages, answered)
    written = count_tokens([turn.text, [use.input for use in turn.uses]])
    return {
        "prompt_tokens": sent,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens": written,
        "total_tokens": sent + written,
    }


def _data(chunk: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(chunk)}\n\n".encode()

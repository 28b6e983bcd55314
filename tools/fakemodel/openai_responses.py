"""The OpenAI Responses API of the scripted model.

Owns the API's formats: requests, responses and events. It must not know scripts or sockets.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import count
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
from tools.fakemodel.model_tools import ModelTurn, ToolUse

_ROUTES = {
    ("POST", "/v1/responses"): Operation.CONVERSE,
    ("POST", "/v1/responses/input_tokens"): Operation.COUNT,
    ("GET", "/v1/models"): Operation.MODELS,
}
# The beginnings of user messages that Codex itself has generated.
_ADDED = ("<environment_context>", "# AGENTS.md instructions", "<user_instructions>")
# Codex offers some models one tool whose programs call the others; each can be called directly.
_NESTED = {"exec": "exec_command"}


class OpenAiResponses:
    """See `model_dialect.Dialect`."""

    def claims(self, path: str, headers: Mapping[str, str]) -> bool:
        """Recognize the API by its paths, and the list of models by the header of the key."""
        is_list = path == "/v1/models" and "authorization" in headers
        return path.startswith("/v1/responses") or is_list

    def route(self, method: str, path: str) -> Operation | None:
        """Offer responses, a count of their tokens, and the list of models."""
        return _ROUTES.get((method, path))

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
        """Return one response with a message and function calls."""
        items = _output(asked, turn)
        usage = _usage(asked, items)
        return {**_head(asked), "status": "completed", "output": items, "usage": usage}

    def stream(self, asked: MessageRequest, turn: ModelTurn) -> Iterator[bytes]:
        """Yield the events, each with its type as its name and with a number."""
        numbers = count()
        for event in _events(asked, self.message(asked, turn)):
            numbered = {**event, "sequence_number": next(numbers)}
            yield f"event: {event['type']}\ndata: {json.dumps(numbered)}\n\n".encode()

    def count(self, asked: MessageRequest) -> dict[str, Any]:
        """Return the number of input tokens."""
        tokens = _usage(asked, [])["input_tokens"]
        return {"object": "response.input_tokens", "input_tokens": tokens}

    def models(self) -> dict[str, Any]:
        """Return the list of models."""
        return openai_forms.models_page()

    def refuse(self, refusal: ApiRefusal, now: datetime) -> ErrorAnswer:  # noqa: ARG002
        """Return the error; for a rate limit it also says how long the limit lasts."""
        return openai_forms.refuse(refusal)


def read_conversation(body: dict[str, Any]) -> Conversation:
    """Return the latest brief in a request, and the results of each turn since then."""
    brief, briefs, turns, instructions = "", 0, [], [str(body.get("instructions") or "")]
    tools, is_calling = _names(body.get("tools")), False
    for item in _items(body):
        kind, role, text = item.get("type", "message"), item.get("role"), _text_of(item)
        if kind == "additional_tools":
            tools |= _names(item.get("tools"))
        elif kind.endswith("_call"):
            turns += [] if is_calling else [""]
        elif kind.endswith("_output") and turns:
            turns[-1] = "\n".join([turns[-1], text]).strip("\n")
        elif role in ("developer", "system"):
            instructions.append(text)
        elif role == "user" and text and not text.startswith(_ADDED):
            brief, briefs, turns = text, briefs + 1, []
        is_calling = kind.endswith("_call")
    return Conversation(
        brief=brief,
        briefs=briefs,
        results=tuple(turns),
        tools=frozenset(tools | {_NESTED[name] for name in tools if name in _NESTED}),
        instructions="\n".join(instructions),
    )


def _items(body: dict[str, Any]) -> list[dict[str, Any]]:
    asked = body["input"]
    return [{"role": "user", "content": asked}] if isinstance(asked, str) else asked


def _text_of(item: Mapping[str, Any]) -> str:
    return openai_forms.text_of(item.get("content") or item.get("output"))


def _names(tools: Iterable[dict[str, Any]] | None) -> set[str]:
    """Return the names of tools, including those in a namespace."""
    names: set[str] = set()
    for tool in tools or ():
        names |= _names(tool["tools"]) if "tools" in tool else {str(tool.get("name"))}
    return names


def _head(asked: MessageRequest) -> dict[str, Any]:
    seed = openai_forms.seed_of(asked.body["input"])
    return {
        "id": f"resp_{seed[:24]}",
        "object": "response",
        "created_at": 0,
        "model": asked.model,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "output": [],
    }


def _output(asked: MessageRequest, turn: ModelTurn) -> list[dict[str, Any]]:
    seed = openai_forms.seed_of(asked.body["input"])
    part = {"type": "output_text", "text": turn.text, "annotations": []}
    message = {"type": "message", "id": f"msg_{seed[:24]}", "role": "assistant", "content": [part]}
    calls = [_call(f"{seed[:20]}{number:02}", use) for number, use in enumerate(turn.uses)]
    items = [message, *calls] if turn.text or not calls else calls
    return [{**item, "status": "completed"} for item in items]


def _call(identifier: str, use: ToolUse) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{identifier}",
        "call_id": f"call_{identifier}",
        "name": use.name,
        "arguments": json.dumps(use.input),
    }


def _events(asked: MessageRequest, response: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": _head(asked)}
    yield {"type": "response.in_progress", "response": _head(asked)}
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        is_message = item["type"] == "message"
        empty: dict[str, Any] = {"content": []} if is_message else {"arguments": ""}
        begun = {**item, **empty, "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": index, "item": begun}
        yield from _text_events(place, item) if is_message else _call_events(place, item)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": response}


def _text_events(place: dict[str, Any], item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    (part,) = item["content"]
    place = {**place, "content_index": 0}
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    for piece in text_pieces(part["text"]):
        yield {"type": "response.output_text.delta", **place, "delta": piece}
    yield {"type": "response.output_text.done", **place, "text": part["text"]}
    yield {"type": "response.content_part.done", **place, "part": part}


def _call_events(place: dict[str, Any], item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for piece in json_pieces(json.loads(item["arguments"])):
        yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
    arguments = {"arguments": item["arguments"]}
    yield {"type": "response.function_call_arguments.done", **place, **arguments}


def _usage(asked: MessageRequest, items: list[dict[str, Any]]) -> dict[str, Any]:
    given = _items(asked.body)
    # The content of the request before is cached: everything up to the model's last item.
    answered = max(
        (
            place
            for place, item in enumerate(given)
            if item.get("role") == "assistant" or item.get("type", "").endswith("_call")
        ),
        default=0,
    )
    fixed = [asked.body.get("instructions"), asked.body.get("tools")]
    sent, cached = openai_forms.input_tokens(fixed, given, answered)
    written = count_tokens(items)
    return {
        "input_tokens": sent,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": sent + written,
    }

"""The Gemini API of the scripted model.

Owns the API's formats: contents, candidates, streams of pieces, usage and errors. A stream always
consists of server-sent events. It must not know scripts or sockets.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from tools.fakemodel.model_behaviours import ApiRefusal, ApiRefusalReason
from tools.fakemodel.model_dialect import (
    ApiRefusedError,
    ErrorAnswer,
    MessageRequest,
    Operation,
    count_tokens,
    text_pieces,
)
from tools.fakemodel.model_script import Conversation
from tools.fakemodel.model_tools import ModelTurn

MODELS = ("gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite")

_PATH = re.compile(r"/v1(?:beta)?/models(?:/(?P<model>[\w.-]+):(?P<method>\w+))?")
_METHODS = {
    "generateContent": Operation.CONVERSE,
    "streamGenerateContent": Operation.CONVERSE,
    "countTokens": Operation.COUNT,
}
# Gemini CLI puts the output of a command between these tags.
_WRAPPING = re.compile(r"<untrusted_context>\n(?:Output: )?(.*?)\n</untrusted_context>", re.DOTALL)
_RPC = "type.googleapis.com/google.rpc"
_BAD_KEY = "API key not valid. Please pass a valid API key."
_NO_CREDIT = "Your prepayment credits are depleted. Please manage your project and billing."
_QUOTA = "You exceeded your current quota, please check your plan and billing details."
_ERRORS = {
    ApiRefusalReason.UNAUTHORIZED: (400, "INVALID_ARGUMENT", _BAD_KEY),
    ApiRefusalReason.NO_CREDIT: (429, "RESOURCE_EXHAUSTED", _NO_CREDIT),
    ApiRefusalReason.RATE_LIMITED: (429, "RESOURCE_EXHAUSTED", _QUOTA),
    ApiRefusalReason.SERVER_ERROR: (500, "INTERNAL", "An internal error has occurred."),
    ApiRefusalReason.UNAVAILABLE: (503, "UNAVAILABLE", "The model is overloaded."),
    ApiRefusalReason.OVERLOADED: (529, "UNAVAILABLE", "The service is overloaded."),
    ApiRefusalReason.BAD_REQUEST: (400, "INVALID_ARGUMENT", "this is not a request for content"),
    ApiRefusalReason.NOT_FOUND: (404, "NOT_FOUND", "there is nothing here"),
    ApiRefusalReason.TOO_LARGE: (413, "INVALID_ARGUMENT", "the request is too large"),
}


class GeminiContents:
    """See `model_dialect.Dialect`."""

    def claims(self, path: str, headers: Mapping[str, str]) -> bool:
        """Recognize the API by its paths, and the list of models by the header of the key."""
        if path.startswith("/v1beta/"):
            return True
        return path.startswith("/v1/models") and "x-goog-api-key" in headers

    def route(self, method: str, path: str) -> Operation | None:
        """Offer content, whole or as a stream, a count of tokens, and the list of models."""
        match = _PATH.fullmatch(path)
        if match is None:
            return None
        if match["method"] is None:
            return Operation.MODELS if method == "GET" else None
        return _METHODS.get(match["method"]) if method == "POST" else None

    def key_of(self, headers: Mapping[str, str]) -> str:
        """Return the key, which has a header of its own."""
        return headers.get("x-goog-api-key", "")

    def read(self, path: str, body: dict[str, Any]) -> MessageRequest:
        """Parse a request; every model whose name begins with `gemini-` exists."""
        match = _PATH.fullmatch(path)
        model, method = (match["model"], match["method"]) if match else ("", "")
        body = body.get("generateContentRequest", body)
        conversation = read_conversation(body)
        if not model.startswith("gemini-"):
            raise ApiRefusedError(
                ApiRefusal(ApiRefusalReason.NOT_FOUND, f"models/{model} is not found")
            )
        return MessageRequest(conversation, body, model, method == "streamGenerateContent")

    def message(self, asked: MessageRequest, turn: ModelTurn) -> dict[str, Any]:
        """Return one candidate with text and calls of functions."""
        parts = _form(asked.body) or _parts(turn)
        return _answer(asked, parts, _usage(asked, parts), is_last=True)

    def stream(self, asked: MessageRequest, turn: ModelTurn) -> Iterator[bytes]:
        """Yield the parts, a text in several pieces; the last one has the finish reason."""
        parts = [*({"text": piece} for piece in text_pieces(turn.text)), *_calls(turn)]
        usage = _usage(asked, _parts(turn))
        for number, part in enumerate(parts or [{"text": ""}], start=1):
            is_last = number >= len(parts)
            counts = usage if is_last else {**usage, "candidatesTokenCount": number}
            piece = _answer(asked, [part], counts, is_last=is_last)
            yield f"data: {json.dumps(piece)}\r\n\r\n".encode()

    def count(self, asked: MessageRequest) -> dict[str, Any]:
        """Return the number of the prompt's tokens."""
        return {"totalTokens": _prompt_tokens(asked.body, asked.body["contents"])}

    def models(self) -> dict[str, Any]:
        """Return the page of models."""
        methods = ["generateContent", "countTokens"]
        return {
            "models": [
                {"name": f"models/{model}", "supportedGenerationMethods": methods}
                for model in MODELS
            ]
        }

    def refuse(self, refusal: ApiRefusal, now: datetime) -> ErrorAnswer:  # noqa: ARG002 - no dates
        """Return the error; its body also says how long a rate limit lasts."""
        status, word, usual = _ERRORS[refusal.reason]
        details: list[dict[str, Any]] = []
        if refusal.reason is ApiRefusalReason.UNAUTHORIZED:
            details.append({"@type": f"{_RPC}.ErrorInfo", "reason": "API_KEY_INVALID"})
        if refusal.retry_after is not None:
            delay = f"{refusal.retry_after}s"
            details.append({"@type": f"{_RPC}.RetryInfo", "retryDelay": delay})
        message = refusal.message or usual
        error = {"code": status, "message": message, "status": word, "details": details}
        return ErrorAnswer(status, {"error": error}, {})


def read_conversation(body: dict[str, Any]) -> Conversation:
    """Return the latest brief in a request, and the results of each turn since then."""
    brief, briefs, turns = "", 0, []
    for content in body["contents"]:
        parts = content["parts"]
        results = [_result(part) for part in parts if "functionResponse" in part]
        if content.get("role") == "model" and any("functionCall" in part for part in parts):
            turns.append("")
        elif results and turns:
            turns[-1] = "\n".join([turns[-1], *results]).strip("\n")
        elif content.get("role") != "model" and (text := _said_by_user(parts)):
            brief, briefs, turns = text, briefs + 1, []
    return Conversation(
        brief=brief,
        briefs=briefs,
        results=tuple(turns),
        tools=frozenset(
            str(function.get("name"))
            for tool in body.get("tools", [])
            for function in tool.get("functionDeclarations", [])
        ),
        instructions=_texts(body.get("systemInstruction", {}).get("parts", [])),
    )


def _said_by_user(parts: list[dict[str, Any]]) -> str:
    # The CLI describes its working directory in a part of its own.
    return _texts([part for part in parts if not part.get("text", "").startswith("<session_")])


def _texts(parts: list[dict[str, Any]]) -> str:
    return "\n".join(part["text"] for part in parts if "text" in part)


def _result(part: dict[str, Any]) -> str:
    response = part["functionResponse"].get("response", {})
    text = str(response.get("output") or response.get("error") or "")
    return _WRAPPING.sub(r"\1", text)


def _parts(turn: ModelTurn) -> list[dict[str, Any]]:
    text = [{"text": turn.text}] if turn.text or not turn.uses else []
    return [*text, *_calls(turn)]


def _form(body: dict[str, Any]) -> list[dict[str, Any]]:
    # With such a request Gemini CLI asks which model a task needs.
    schema = body.get("generationConfig", {}).get("responseJsonSchema")
    if not schema:
        return []
    empty = {"INTEGER": 1, "NUMBER": 1, "BOOLEAN": False, "ARRAY": [], "OBJECT": {}}
    filled = {
        name: empty.get(str(field.get("type")).upper(), "nothing to say")
        for name, field in schema.get("properties", {}).items()
    }
    return [{"text": json.dumps(filled)}]


def _calls(turn: ModelTurn) -> list[dict[str, Any]]:
    return [{"functionCall": {"name": use.name, "args": use.input}} for use in turn.uses]


def _answer(
    asked: MessageRequest, parts: list[dict[str, Any]], usage: dict[str, int], *, is_last: bool
) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if is_last:
        candidate["finishReason"] = "STOP"
    seed = hashlib.sha256(json.dumps(asked.body["contents"]).encode()).hexdigest()
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": asked.model,
        "responseId": seed[:22],
    }


def _usage(asked: MessageRequest, parts: list[dict[str, Any]]) -> dict[str, int]:
    # The content of the request before is cached, and still counts as part of the prompt.
    contents = asked.body["contents"]
    answered = max(
        (i for i, content in enumerate(contents) if content.get("role") == "model"), default=0
    )
    prompt = _prompt_tokens(asked.body, contents)
    output = count_tokens(parts)
    usage = {"promptTokenCount": prompt, "candidatesTokenCount": output}
    if answered:
        usage["cachedContentTokenCount"] = _prompt_tokens(asked.body, contents[:answered])
    return {**usage, "totalTokenCount": prompt + output}


def _prompt_tokens(body: dict[str, Any], contents: list[dict[str, Any]]) -> int:
    return count_tokens([body.get("systemInstruction", {}), body.get("tools", []), contents])

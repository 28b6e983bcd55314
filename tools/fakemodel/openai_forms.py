"""The common parts of both OpenAI APIs of the scripted model: key, models, errors and usage.

It must not know messages, scripts or sockets.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from tools.fakemodel.model_behaviours import ApiRefusal, ApiRefusalReason
from tools.fakemodel.model_dialect import ApiRefusedError, ErrorAnswer, count_tokens, is_made_up

MODELS = ("gpt-5-codex", "gpt-5", "gpt-5-mini")

_CREATED = 1_759_276_800
_ERRORS: Mapping[ApiRefusalReason, tuple[int, str, str | None, str]] = {
    ApiRefusalReason.UNAUTHORIZED: (
        401,
        "invalid_request_error",
        "invalid_api_key",
        "Incorrect API key provided.",
    ),
    ApiRefusalReason.NO_CREDIT: (
        429,
        "insufficient_quota",
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    ApiRefusalReason.RATE_LIMITED: (429, "requests", "rate_limit_exceeded", "Rate limit reached"),
    ApiRefusalReason.SERVER_ERROR: (500, "server_error", None, "The server had an error."),
    ApiRefusalReason.UNAVAILABLE: (503, "server_error", None, "The service is unavailable."),
    ApiRefusalReason.OVERLOADED: (529, "server_error", None, "The engine is overloaded."),
    ApiRefusalReason.BAD_REQUEST: (
        400,
        "invalid_request_error",
        None,
        "The request makes no sense.",
    ),
    ApiRefusalReason.NOT_FOUND: (404, "invalid_request_error", None, "There is nothing here."),
    ApiRefusalReason.TOO_LARGE: (413, "invalid_request_error", None, "The request is too large."),
}


def bearer_key(headers: Mapping[str, str]) -> str:
    """Return the key, which is a bearer token, or an empty string."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key if scheme.lower() == "bearer" else ""


def known_model(body: dict[str, Any]) -> str:
    """Return the requested model. Raises ApiRefusedError unless it begins with `gpt-`."""
    model = str(body.get("model", ""))
    if not model.startswith("gpt-"):
        raise ApiRefusedError(
            ApiRefusal(ApiRefusalReason.NOT_FOUND, f"The model `{model}` does not exist.")
        )
    return model


def models_page() -> dict[str, Any]:
    """Return the list of models."""
    owner = {"object": "model", "created": _CREATED, "owned_by": "system"}
    return {"object": "list", "data": [{"id": model, **owner} for model in MODELS]}


def refuse(refusal: ApiRefusal) -> ErrorAnswer:
    """Return the error; for a rate limit it also says how long the limit lasts."""
    status, kind, code, usual = _ERRORS[refusal.reason]
    headers = {}
    if refusal.retry_after is not None:
        headers = {
            "retry-after": str(refusal.retry_after),
            "x-ratelimit-remaining-requests": "0",
            "x-ratelimit-reset-requests": f"{refusal.retry_after}s",
        }
    error = {"message": refusal.message or usual, "type": kind, "param": None, "code": code}
    return ErrorAnswer(status, {"error": error}, headers)


def seed_of(conversation: object) -> str:
    """Return the seed of an answer's identifiers: the same for the same conversation."""
    return hashlib.sha256(json.dumps(conversation).encode()).hexdigest()


def input_tokens(fixed: object, items: list[dict[str, Any]], answered: int) -> tuple[int, int]:
    """Return the tokens of a request, and how many are cached: those up to the last answer."""
    cached = count_tokens([fixed, items[:answered]]) if answered else 0
    return count_tokens([fixed, items]), cached


def text_of(content: object) -> str:
    """Return the text of a message or of a tool's result, which may consist of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(_texts(content))


def said_by_user(content: object) -> str:
    """Return the text of a user message without the parts that the agent program generated."""
    texts = _texts(content) if isinstance(content, list) else [text_of(content)]
    return "\n".join(text for text in texts if not is_made_up(text))


def _texts(parts: list[dict[str, Any]]) -> list[str]:
    return [str(part["text"]) for part in parts if part.get("text")]

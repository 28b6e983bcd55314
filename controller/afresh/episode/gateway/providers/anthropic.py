"""The Anthropic Messages API, as far as the gateway reads it."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from afresh.episode.gateway.model_api import ModelAnswer, ModelFault, Route, TokenCounts
from afresh.episode.gateway.providers.anthropic_requests import AnthropicRequests
from afresh.episode.gateway.wire_values import count_of, kept_query, mapping_of, number_of

MESSAGES = "/v1/messages"
COUNT_TOKENS = "/v1/messages/count_tokens"
_MODELS = re.compile(r"/v1/models(/[A-Za-z0-9][\w.:@-]*)?")
_HEADERS = frozenset(
    {
        "anthropic-beta",
        "anthropic-dangerous-direct-browser-access",
        "anthropic-version",
        "x-app",
    }
)
_QUERY = frozenset({"beta", "limit", "before_id", "after_id"})
_LIMIT_KINDS = ("requests", "tokens", "input-tokens", "output-tokens")
_COUNTS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}
_FAULT_OF_TYPE = {
    "authentication_error": ModelFault.KEY_REFUSED,
    "permission_error": ModelFault.KEY_REFUSED,
    "billing_error": ModelFault.NO_CREDIT,
    "rate_limit_error": ModelFault.RATE_LIMITED,
    "overloaded_error": ModelFault.UNAVAILABLE,
    "api_error": ModelFault.UNAVAILABLE,
    "timeout_error": ModelFault.UNAVAILABLE,
    "request_too_large": ModelFault.TOO_LONG,
}


class AnthropicApi:
    """See `model_api.ModelApi`."""

    default_endpoint = "https://api.anthropic.com"
    requests = AnthropicRequests()

    def route(self, method: str, path: str) -> Route:
        """Allow generating, counting tokens and listing models; the CLI requests `/` at start."""
        if method == "POST" and path == MESSAGES:
            return Route.GENERATE
        if method == "POST" and path == COUNT_TOKENS:
            return Route.FORWARD
        if method == "GET" and _MODELS.fullmatch(path):
            return Route.FORWARD
        if method in ("GET", "HEAD") and path == "/":
            return Route.LOCAL
        return Route.FORBIDDEN

    def key_headers(self, key: str) -> dict[str, str]:
        """Return the header that carries the key."""
        return {"x-api-key": key}

    def is_passed_header(self, name: str) -> bool:
        """Whether the API reads the header, or an SDK describes itself in it."""
        return name in _HEADERS or name.startswith("x-stainless-")

    def is_returned_header(self, name: str) -> bool:
        """Whether the header has limits or other information of the API."""
        return name.startswith("anthropic-")

    def passed_query(self, path: str, query: str) -> str:  # noqa: ARG002
        """Return the parameters that the API reads."""
        return kept_query(query, _QUERY)

    def with_model(self, path: str, asked: dict[str, Any], model: str) -> str:
        """Set the model, which is in the body."""
        asked["model"] = model
        return path

    def make_metered(self, path: str, asked: dict[str, Any]) -> None:
        """Do nothing: every answer reports its usage."""

    def take_event(self, answer: ModelAnswer, event: Mapping[str, Any]) -> None:
        """Update `answer` with one server-sent event."""
        match event.get("type"):
            case "message_start":
                answer.began = True
                message = mapping_of(event.get("message"))
                answer.model = str(message.get("model") or "")
                _count(answer.tokens, message)
            case "message_delta":
                _count(answer.tokens, event)
                answer.is_counted |= _has_output_count(event)
                if mapping_of(event.get("delta")).get("stop_reason"):
                    answer.stopping = True
            case "message_stop":
                answer.stopping = answer.ended = True
            case "error":
                kind = mapping_of(event.get("error")).get("type")
                answer.fault = _FAULT_OF_TYPE.get(str(kind), ModelFault.REJECTED)

    def take_message(self, answer: ModelAnswer, message: Mapping[str, Any]) -> None:
        """Update `answer` with a whole message."""
        if message.get("type") != "message":
            return
        answer.began = answer.stopping = answer.ended = True
        answer.model = str(message.get("model") or "")
        answer.is_counted = _has_output_count(message)
        _count(answer.tokens, message)

    def fault_of(self, status: int, body: bytes) -> ModelFault:
        """Classify by the status first, and by the text only if the status is ambiguous."""
        text = body.decode(errors="replace").lower()
        if status == 400:
            return _fault_of_bad_request(text)
        if status == 429 and "extra usage is required" in text:
            return (
                ModelFault.NO_CREDIT
            )  # the account's plan does not include it; waiting does not help
        by_status = {
            401: ModelFault.KEY_REFUSED,
            402: ModelFault.NO_CREDIT,
            403: ModelFault.KEY_REFUSED,
            413: ModelFault.TOO_LONG,
            429: ModelFault.RATE_LIMITED,
        }
        if status in by_status:
            return by_status[status]
        if status < 400 or status in (404, 405):
            return ModelFault.NOT_THERE
        return ModelFault.UNAVAILABLE if status >= 500 else ModelFault.REJECTED

    def reset_time(
        self,
        headers: Mapping[str, str],
        body: bytes,  # noqa: ARG002
        now: float,
    ) -> float | None:
        """Use Retry-After, or else the latest reset of an exhausted limit."""
        wait = number_of(headers.get("retry-after", ""))
        if wait is not None:
            return now + wait
        unified = headers.get("anthropic-ratelimit-unified-reset", "")
        if unified.isdecimal():
            return float(unified)
        resets = [
            _epoch(headers.get(f"anthropic-ratelimit-{kind}-reset", ""))
            for kind in _LIMIT_KINDS
            if headers.get(f"anthropic-ratelimit-{kind}-remaining") == "0"
        ]
        return max((reset for reset in resets if reset), default=None)

    def refusal(self, message: str) -> bytes:
        """Return an error that the CLI shows, and after which it does not retry."""
        error = {"type": "invalid_request_error", "message": message}
        return json.dumps({"type": "error", "error": error}).encode()


def _fault_of_bad_request(text: str) -> ModelFault:
    if "credit balance" in text or "api usage limits" in text:
        return ModelFault.NO_CREDIT
    if "organization has been disabled" in text:
        return ModelFault.KEY_REFUSED
    if "too long" in text or "context window" in text or "context limit" in text:
        return ModelFault.TOO_LONG
    return ModelFault.REJECTED


def _count(tokens: TokenCounts, holder: Mapping[str, Any]) -> None:
    usage = mapping_of(holder.get("usage"))
    for name, wire_name in _COUNTS.items():
        value = count_of(usage.get(wire_name))
        if value is not None:
            setattr(tokens, name, value)


def _has_output_count(holder: Mapping[str, Any]) -> bool:
    return count_of(mapping_of(holder.get("usage")).get(_COUNTS["output"])) is not None


def _epoch(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None

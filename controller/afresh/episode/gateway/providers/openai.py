"""The OpenAI API, as far as the gateway reads it: Responses, and Chat Completions.

Many services offer the second one. `openai_faults` classifies failures.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from afresh.episode.gateway.model_api import ModelAnswer, ModelFault, Route, TokenCounts
from afresh.episode.gateway.providers import openai_faults
from afresh.episode.gateway.providers.openai_requests import OpenAiRequests
from afresh.episode.gateway.wire_values import count_of, kept_query, mapping_of

RESPONSES = "/v1/responses"
CHAT = "/v1/chat/completions"
# The last one names the form in which Codex writes its requests.
_HEADERS = frozenset({"openai-beta", "originator", "x-openai-internal-codex-responses-lite"})
OTHER_MODELS = "models"
_QUERY = frozenset({"limit", "after", "order", "client_version"})
_MODELS = re.compile(r"/v1/models(/[A-Za-z0-9][\w.:@-]*)?")


class OpenAiApi:
    """See `model_api.ModelApi`."""

    default_endpoint = "https://api.openai.com"
    requests = OpenAiRequests()

    def route(self, method: str, path: str) -> Route:
        """Allow generating and listing models."""
        if method == "POST" and path in (RESPONSES, CHAT):
            return Route.GENERATE
        if method == "GET" and _MODELS.fullmatch(path):
            return Route.FORWARD
        return Route.FORBIDDEN

    def key_headers(self, key: str) -> dict[str, str]:
        """Return the header that carries the key."""
        return {"Authorization": f"Bearer {key}"}

    def is_passed_header(self, name: str) -> bool:
        """Whether the API reads the header, or an SDK describes itself in it.

        The organization and the project do not pass, since they select who pays.
        """
        return name in _HEADERS or name.startswith("x-stainless-")

    def is_returned_header(self, name: str) -> bool:
        """Whether the header has limits or other information of the API."""
        return name.startswith(("openai-", "x-ratelimit-", "x-codex-"))

    def passed_query(self, path: str, query: str) -> str:  # noqa: ARG002
        """Return the parameters that the API reads."""
        return kept_query(query, _QUERY)

    def with_model(self, path: str, asked: dict[str, Any], model: str) -> str:
        """Set the model in the body, and remove the models to which a proxy would fall back."""
        asked["model"] = model
        asked.pop(OTHER_MODELS, None)
        return path

    def make_metered(self, path: str, asked: dict[str, Any]) -> None:
        """Request the usage of a stream, and no answer that a later request must fetch."""
        asked.pop("background", None)
        if path == CHAT and asked.get("stream"):
            options = dict(mapping_of(asked.get("stream_options")))
            options.pop("continuous_usage_stats", None)  # its counts are not the final ones
            asked["stream_options"] = {**options, "include_usage": True}

    def take_event(self, answer: ModelAnswer, event: Mapping[str, Any]) -> None:
        """Update `answer` with one server-sent event of either kind of stream."""
        kind = event.get("type")
        if isinstance(kind, str) and kind.startswith("response."):
            _take_response(answer, mapping_of(event.get("response")), kind)
        elif kind == "error" or event.get("error"):
            answer.fault = openai_faults.fault_of_event(event.get("error") or event)
        elif isinstance(event.get("choices"), list) and (event["choices"] or event.get("usage")):
            _take_chunk(answer, event)  # otherwise it is the result of a content filter

    def take_message(self, answer: ModelAnswer, message: Mapping[str, Any]) -> None:
        """Update `answer` with a whole response or chat completion."""
        if message.get("object") == "response":
            _take_response(answer, message, f"response.{message.get('status')}")
        elif isinstance(message.get("choices"), list) and message["choices"]:
            _take_chunk(answer, message)
            answer.stopping = answer.ended = True
        elif message.get("error"):
            answer.fault = openai_faults.fault_of_event(message["error"])

    def fault_of(self, status: int, body: bytes) -> ModelFault:
        """Classify by the code first: one status has several meanings."""
        return openai_faults.fault_of_refusal(status, body)

    def reset_time(
        self,
        headers: Mapping[str, str],
        body: bytes,  # noqa: ARG002
        now: float,
    ) -> float | None:
        """Use Retry-After, or else the latest reset of an exhausted limit."""
        return openai_faults.reset_time(headers, now)

    def refusal(self, message: str) -> bytes:
        """Return an error that the CLI shows, and after which it does not retry."""
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
        return json.dumps({"error": error}).encode()


def _take_response(answer: ModelAnswer, response: Mapping[str, Any], kind: str) -> None:
    answer.began = True
    answer.model = _text(response.get("model")) or answer.model
    answer.is_counted |= _count(answer.tokens, response, "input", "output")
    match kind:
        case "response.completed":
            answer.stopping = answer.ended = True
        case "response.incomplete":
            answer.stopping = answer.ended = True
            reason = mapping_of(response.get("incomplete_details")).get("reason")
            if "context" in _text(reason):
                answer.fault = ModelFault.TOO_LONG
        case "response.failed":
            answer.fault = openai_faults.fault_of_event(response.get("error"))
            # If nothing was used, the request was refused before the model began.
            answer.began = answer.tokens.all > 0


def _take_chunk(answer: ModelAnswer, chunk: Mapping[str, Any]) -> None:
    answer.began = True
    answer.model = _text(chunk.get("model")) or answer.model
    answer.is_counted |= _count(answer.tokens, chunk, "prompt", "completion")
    # Chunks after this one have only the usage.
    if any(mapping_of(choice).get("finish_reason") for choice in chunk["choices"]):
        answer.stopping = answer.ended = True


def _count(tokens: TokenCounts, holder: Mapping[str, Any], into: str, out_of: str) -> bool:
    """Replace the counts; return whether there were any.

    The API's input count includes cached tokens, which are counted separately here.
    """
    usage = mapping_of(holder.get("usage"))
    if not usage:
        return False
    details = mapping_of(usage.get(f"{into}_tokens_details"))
    whole = _number(usage.get(f"{into}_tokens"))
    tokens.cache_read = min(_number(details.get("cached_tokens")), whole)
    tokens.cache_write = min(_number(details.get("cache_write_tokens")), whole - tokens.cache_read)
    tokens.input = whole - tokens.cache_read - tokens.cache_write
    tokens.output = _number(usage.get(f"{out_of}_tokens"))
    return True


def _number(value: object) -> int:
    return count_of(value) or 0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

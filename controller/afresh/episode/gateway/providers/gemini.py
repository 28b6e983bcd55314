"""The Gemini API, as far as the gateway reads it. `gemini_faults` classifies its errors.

The path names the model. A stream has no separate last event: the piece with the reason for the end
is the last one that counts.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from afresh.episode.gateway.model_api import ModelAnswer, ModelFault, Route, TokenCounts
from afresh.episode.gateway.providers.gemini_faults import fault_of_error, read_error, wait_of_error
from afresh.episode.gateway.providers.gemini_requests import GeminiRequests
from afresh.episode.gateway.wire_values import count_of, kept_query, mapping_of, number_of

_VERSION = r"/v1(?:beta)?"
_NAME = r"[A-Za-z0-9][\w.-]*"
_ASK = re.compile(
    rf"(?P<before>{_VERSION}/models/){_NAME}"
    r":(?P<method>generateContent|streamGenerateContent|countTokens)"
)
_MODELS = re.compile(rf"{_VERSION}/models(/{_NAME})?")
# Each answer has one fixed form, whatever the agent requests: a choice of fields could omit the
# usage, and a list instead of a stream could be metered only at its end.
_FORMS = {"generateContent": "alt=json", "streamGenerateContent": "alt=sse", "countTokens": ""}
_PAGE = frozenset({"pageSize", "pageToken"})


class GeminiApi:
    """See `model_api.ModelApi`."""

    default_endpoint = "https://generativelanguage.googleapis.com"
    requests = GeminiRequests()

    def route(self, method: str, path: str) -> Route:
        """Allow generating, counting tokens and listing models."""
        asked = _ASK.fullmatch(path)
        if method == "POST" and asked:
            return Route.FORWARD if asked["method"] == "countTokens" else Route.GENERATE
        if method == "GET" and _MODELS.fullmatch(path):
            return Route.FORWARD
        return Route.FORBIDDEN

    def key_headers(self, key: str) -> dict[str, str]:
        """Return the header that carries the key."""
        return {"x-goog-api-key": key}

    def is_passed_header(self, name: str) -> bool:
        """Whether it is the header in which the client describes itself.

        Other `x-goog-` headers have the effect of query parameters.
        """
        return name == "x-goog-api-client"

    def is_returned_header(self, name: str) -> bool:  # noqa: ARG002
        """Return False: there are no headers besides those of all APIs."""
        return False

    def passed_query(self, path: str, query: str) -> str:
        """Return the form of an answer, or the page of a list. A key is never passed on."""
        asked = _ASK.fullmatch(path)
        if asked:
            return _FORMS[asked["method"]]
        return kept_query(query, _PAGE)

    def with_model(self, path: str, asked: dict[str, Any], model: str) -> str:
        """Set the model in the path, and in the body if it names one too."""
        parts = _ASK.fullmatch(path)
        if parts is None:
            return path
        for holder in (asked, asked.get("generateContentRequest")):
            if isinstance(holder, dict) and "model" in holder:
                holder["model"] = f"models/{model}"
        return f"{parts['before']}{model}:{parts['method']}"

    def make_metered(self, path: str, asked: dict[str, Any]) -> None:
        """Do nothing: every answer reports its usage."""

    def take_event(self, answer: ModelAnswer, event: Mapping[str, Any]) -> None:
        """Update `answer` with a piece of a stream, whose counts are those of the answer so far."""
        error = read_error(event)
        if error:
            answer.fault = fault_of_error(error.code, error)
            return
        usage = mapping_of(event.get("usageMetadata"))
        candidates = _candidates(event)
        blocked = mapping_of(event.get("promptFeedback")).get("blockReason")
        if not (usage or candidates or blocked):
            return
        answer.began = True
        answer.model = str(event.get("modelVersion") or answer.model).removeprefix("models/")
        _count(answer.tokens, usage)
        answer.is_counted |= bool(usage)
        if any(candidate.get("finishReason") for candidate in candidates):
            answer.stopping = answer.ended = True
            if usage and not _number(usage, "candidatesTokenCount") and _is_empty(candidates):
                answer.fault = ModelFault.EMPTY
        elif blocked and not candidates:
            answer.stopping = answer.ended = True
            answer.fault = ModelFault.REJECTED

    def take_message(self, answer: ModelAnswer, message: Mapping[str, Any]) -> None:
        """Update `answer` with a whole answer, which has the form of a piece."""
        self.take_event(answer, message)

    def fault_of(self, status: int, body: bytes) -> ModelFault:
        """Classify by the content of the error, or else by the status."""
        return fault_of_error(status, read_error(_json(body)))

    def reset_time(self, headers: Mapping[str, str], body: bytes, now: float) -> float | None:
        """Use Retry-After, or else the wait that the error suggests."""
        after = number_of(headers.get("retry-after", ""))
        if after is not None:
            return now + after
        error = read_error(_json(body))
        wait = wait_of_error(error) if error else None
        return None if wait is None else now + wait

    def refusal(self, message: str) -> bytes:
        """Return an error that the CLI shows, and after which it does not retry."""
        error = {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}
        return json.dumps({"error": error}).encode()


def _count(tokens: TokenCounts, usage: Mapping[str, Any]) -> None:
    """Replace the counts. Tokens from a cache are part of the API's prompt count."""
    if not usage:
        return
    prompt = _number(usage, "promptTokenCount") + _number(usage, "toolUsePromptTokenCount")
    cached = min(_number(usage, "cachedContentTokenCount"), prompt)
    output = _number(usage, "candidatesTokenCount") + _number(usage, "thoughtsTokenCount")
    tokens.input = prompt - cached
    tokens.cache_read = cached
    tokens.output = max(tokens.output, output)  # a late piece may omit a count


def _is_empty(candidates: list[Mapping[str, Any]]) -> bool:
    """Whether all candidates stop normally and have no content other than thoughts."""
    for candidate in candidates:
        parts = mapping_of(candidate.get("content")).get("parts")
        said = [part for part in parts if _says(part)] if isinstance(parts, list) else []
        if said or candidate.get("finishReason") != "STOP":
            return False
    return True


def _says(part: object) -> bool:
    said = mapping_of(part)
    return not said.get("thought") and any(said.get(name) for name in ("text", "functionCall"))


def _candidates(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = event.get("candidates")
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _number(holder: Mapping[str, Any], name: str) -> int:
    return count_of(holder.get(name)) or 0


def _json(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None

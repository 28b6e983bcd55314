"""Requests of the OpenAI API, of both kinds: their limits, and their use of other services."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from afresh.episode.gateway.request_reading import (
    GenerationParameters,
    is_one_count,
    lowest,
    objects_in,
    positive,
    text_of,
)
from afresh.episode.gateway.wire_values import mapping_of

RESPONSES = "/v1/responses"
# Tools that the agent program itself executes. The provider executes all others.
OWN_TOOLS = frozenset(
    {"apply_patch", "custom", "function", "local_shell", "namespace", "tool_search"}
)
# Fields that make the provider, or a similar service, use other services or stored content.
REACHING = (
    "web_search_options",
    "search_parameters",
    "plugins",
    "prompt",
    "previous_response_id",
    "conversation",
)
SEARCHING_MODEL = re.compile(r"-search-(preview|api)\b|:online$")
# Models that require the newer name for the limit of a chat completion; other servers may not know
# it.
NEWER_NAME = re.compile(r"(openai/)?(gpt-(?!oss)|chatgpt|codex|o\d)")
# The last one is llama.cpp's.
CHAT_LIMITS = ("max_completion_tokens", "max_tokens", "n_predict")
DEARER = "service_tier"
RESPONSE_LIMIT = "max_output_tokens"


class OpenAiRequests:
    """See `request_reading.RequestReader`."""

    def parameters(self, path: str, asked: Mapping[str, Any]) -> GenerationParameters:
        """Return the parameters of a request."""
        limits = (RESPONSE_LIMIT,) if path == RESPONSES else CHAT_LIMITS
        given = [asked.get(name) for name in limits]
        return GenerationParameters(
            model=text_of(asked.get("model")),
            output_tokens=lowest(*given),
            answers=1 if path == RESPONSES else positive(asked.get("n")) or 1,
            is_streamed=asked.get("stream") is True,
            is_plain=is_one_count(*given) and is_one_count(asked.get("n")) and DEARER not in asked,
        )

    def limit_output(
        self, path: str, asked: dict[str, Any], parameters: GenerationParameters, tokens: int
    ) -> None:
        """Set the limit under the names that the request uses, or else under the model's name."""
        asked.pop(DEARER, None)
        if path == RESPONSES:
            asked[RESPONSE_LIMIT] = tokens
            return
        if asked.get("n") is not None:
            asked["n"] = parameters.answers
        used = [name for name in CHAT_LIMITS if asked.get(name) is not None]
        usual = CHAT_LIMITS[0 if NEWER_NAME.match(parameters.model) else 1]
        for name in used or [usual]:
            asked[name] = tokens

    def outside(self, asked: Mapping[str, Any]) -> Iterator[str]:
        """Yield the provider's tools, content that it stores, models that search, and addresses."""
        yield from _tools(asked.get("tools"))
        for name in REACHING:
            if asked.get(name) is not None:
                yield name
        model = text_of(asked.get("model"))
        if SEARCHING_MODEL.search(model):
            yield model
        for message in (*objects_in(asked.get("messages")), *objects_in(asked.get("input"))):
            for name in ("content", "output"):
                parts = message.get(name)
                yield from _addresses(parts if isinstance(parts, list) else [parts])
            yield from _tools(message.get("tools"))


def _tools(tools: object) -> Iterator[str]:
    for tool in objects_in(tools):
        kind = text_of(tool.get("type"))
        # The program executes a shell itself, unless the shell has a container of the provider.
        own_shell = kind == "shell" and _is_local(tool.get("environment"))
        if kind not in OWN_TOOLS and not own_shell:
            yield kind or "tools"
        yield from _tools(tool.get("tools"))


def _is_local(environment: object) -> bool:
    return environment is None or mapping_of(environment).get("type") == "local"


def _addresses(parts: list[object]) -> Iterator[str]:
    for part in objects_in(parts):
        image = part.get("image_url")
        url = text_of(image.get("url") if isinstance(image, dict) else image)
        if url and not url.lower().startswith("data:"):
            yield "image_url"
        if part.get("file_url"):
            yield "file_url"

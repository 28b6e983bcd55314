"""Requests of the Anthropic Messages API: their limits, and their use of other services."""

from collections.abc import Iterator, Mapping
from typing import Any

from afresh.episode.gateway.request_reading import (
    GenerationParameters,
    is_one_count,
    objects_in,
    positive,
    text_of,
)
from afresh.episode.gateway.wire_values import mapping_of

# Tools that the agent program itself executes. The provider executes all others with a type.
OWN_TOOLS = ("bash_", "computer_", "custom", "memory_", "text_editor_", "tool_search_tool_")
OWN_SOURCES = frozenset({"base64", "content", "text"})
LEAST_THINKING = 1024
# Thinking gets one part in this many of a limit that had to be lowered.
THINKING_SHARE = 2
DEARER = ("inference_geo", "speed")
CLEARS_THINKING = "clear_thinking_"


class AnthropicRequests:
    """See `request_reading.RequestReader`."""

    def parameters(self, path: str, asked: Mapping[str, Any]) -> GenerationParameters:  # noqa: ARG002
        """Return the parameters of a request; the API requires a limit."""
        return GenerationParameters(
            model=text_of(asked.get("model")),
            output_tokens=positive(asked.get("max_tokens")),
            is_streamed=asked.get("stream") is True,
            is_plain=is_one_count(asked.get("max_tokens"))
            and not any(name in asked for name in DEARER),
        )

    def limit_output(
        self,
        path: str,  # noqa: ARG002
        asked: dict[str, Any],
        parameters: GenerationParameters,  # noqa: ARG002
        tokens: int,
    ) -> None:
        """Set the limit; the part for thinking must be smaller than it."""
        asked["max_tokens"] = tokens
        for name in DEARER:
            asked.pop(name, None)
        thinking = mapping_of(asked.get("thinking"))
        share = positive(thinking.get("budget_tokens"))
        if share is None or share < tokens:
            return
        if tokens > LEAST_THINKING:
            share = max(LEAST_THINKING, tokens // THINKING_SHARE)
            asked["thinking"] = {**thinking, "budget_tokens": share}
            return
        asked["thinking"] = {"type": "disabled"}
        _clear_no_thinking(asked)

    def outside(self, asked: Mapping[str, Any]) -> Iterator[str]:
        """Yield the provider's tools, its connections to other services, and addresses to read."""
        for tool in objects_in(asked.get("tools")):
            kind = tool.get("type")
            if kind is not None and not text_of(kind).startswith(OWN_TOOLS):
                yield text_of(kind) or "tools"
        for name in ("mcp_servers", "container"):
            if asked.get(name):
                yield name
        for message in objects_in(asked.get("messages")):
            yield from _addresses(message.get("content"))


def _addresses(content: object) -> Iterator[str]:
    for block in objects_in(content):
        source = block.get("source")
        if block.get("type") == "tool_result":
            yield from _addresses(block.get("content"))
        elif isinstance(source, dict):
            kind = text_of(source.get("type"))
            if kind not in OWN_SOURCES:
                yield f"a source of type {kind}"
            yield from _addresses(source.get("content"))


def _clear_no_thinking(asked: dict[str, Any]) -> None:
    """Remove what the API allows only together with thinking."""
    management = mapping_of(asked.get("context_management"))
    edits = [
        edit
        for edit in objects_in(management.get("edits"))
        if not text_of(edit.get("type")).startswith(CLEARS_THINKING)
    ]
    asked.pop("context_management", None)
    if edits:
        asked["context_management"] = {**management, "edits": edits}

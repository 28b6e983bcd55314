"""Requests of the Gemini API: their limits, and their use of other services.

The API accepts every name in two spellings.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from afresh.episode.gateway.request_reading import (
    GenerationParameters,
    is_one_count,
    lowest,
    objects_in,
    positive,
)
from afresh.episode.gateway.wire_values import mapping_of

CONFIGS = ("generationConfig", "generation_config")
LIMITS = ("maxOutputTokens", "max_output_tokens")
COUNTS = ("candidateCount", "candidate_count")
OWN_TOOLS = frozenset({"functionDeclarations", "function_declarations"})
FILES = ("fileData", "file_data")
ANSWERS = ("functionResponse", "function_response")
CONTENTS = ("contents", "systemInstruction", "system_instruction")
DEARER = ("serviceTier", "service_tier")
CACHES = ("cachedContent", "cached_content")


class GeminiRequests:
    """See `request_reading.RequestReader`."""

    def parameters(self, path: str, asked: Mapping[str, Any]) -> GenerationParameters:
        """Return the parameters of a request; the path names its model and its method."""
        configs = [mapping_of(asked.get(name)) for name in CONFIGS]
        limits = [config.get(name) for config in configs for name in LIMITS]
        counts = [config.get(name) for config in configs for name in COUNTS]
        head, _, method = path.rpartition(":")
        return GenerationParameters(
            model=head.rpartition("/")[2],
            output_tokens=lowest(*limits),
            answers=max(positive(count) or 1 for count in counts),
            is_streamed=method == "streamGenerateContent",
            is_plain=is_one_count(*limits)
            and is_one_count(*counts)
            and not any(name in asked for name in DEARER),
        )

    def limit_output(
        self,
        path: str,  # noqa: ARG002
        asked: dict[str, Any],
        parameters: GenerationParameters,
        tokens: int,
    ) -> None:
        """Set the limit in one spelling, and remove the other spelling."""
        for name in DEARER:
            asked.pop(name, None)
        config: dict[str, Any] = {}
        for name in CONFIGS:
            config |= mapping_of(asked.pop(name, None))
        for name in (*LIMITS, *COUNTS):
            config.pop(name, None)
        config[LIMITS[0]] = tokens
        if parameters.answers > 1:
            config[COUNTS[0]] = parameters.answers
        asked[CONFIGS[0]] = config

    def outside(self, asked: Mapping[str, Any]) -> Iterator[str]:
        """Yield the provider's tools, the content that it stores, and addresses to read."""
        for holder in (asked, *_counted(asked)):
            tools = holder.get("tools")
            for tool in objects_in(tools if isinstance(tools, list) else [tools]):
                yield from (name for name in tool if name not in OWN_TOOLS)
            yield from (name for name in CACHES if holder.get(name))
            for name in CONTENTS:
                contents = holder.get(name)
                for content in objects_in(contents if isinstance(contents, list) else [contents]):
                    yield from _addresses(content.get("parts"))


def _counted(asked: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the request inside a request that only counts tokens."""
    for name in ("generateContentRequest", "generate_content_request"):
        yield mapping_of(asked.get(name))


def _addresses(parts: object) -> Iterator[str]:
    for part in objects_in(parts if isinstance(parts, list) else [parts]):
        yield from (name for name in FILES if part.get(name))
        for name in ANSWERS:
            yield from _addresses(mapping_of(part.get(name)).get("parts"))

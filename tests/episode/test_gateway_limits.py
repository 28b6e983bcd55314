"""Requests that say in two ways what they may cost, or in a way that only some providers read."""

import json
from typing import Any

import pytest

from afresh.contract.order import Budget
from afresh.episode.gateway.model_api import ModelApi
from afresh.episode.gateway.providers.anthropic import AnthropicApi
from afresh.episode.gateway.providers.gemini import GeminiApi
from afresh.episode.gateway.providers.openai import OpenAiApi
from tests.episode.gateway_client import MESSAGES, talking_to
from tests.episode.upstream import answers

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
ASK = "/v1beta/models/m:generateContent"
BUDGET = Budget(max_tokens=90_000)
FEW, MANY = 2000, 80_000


async def passed(
    api: ModelApi, path: str, body: dict[str, Any], *, budget: Budget | None = BUDGET
) -> tuple[dict[str, Any], int]:
    """Ask; return what the provider got, and what was set aside for the answer meanwhile."""
    async with talking_to(api, answers(500, b"{}"), model="m", budget=budget) as talk:
        meter, reserved = talk.gateway.meter, []
        meter.on_use = lambda: reserved.append(meter.usage().output_tokens)
        await talk.ask(body, path)
        (asked,) = talk.provider.asked
    return json.loads(asked.body), reserved[0]


def numbers_in(value: object) -> list[object]:
    if isinstance(value, dict):
        return [number for item in value.values() for number in numbers_in(item)]
    return [] if value == "m" else [value]


@pytest.mark.parametrize(
    ("api", "path", "body"),
    [
        (OpenAiApi(), CHAT, {"max_tokens": FEW, "max_completion_tokens": MANY}),
        (OpenAiApi(), CHAT, {"max_tokens": FEW, "max_completion_tokens": f"{MANY} "}),
        (OpenAiApi(), CHAT, {"max_tokens": FEW, "n_predict": MANY}),
        (OpenAiApi(), CHAT, {"max_tokens": FEW, "n_predict": -1}),
        (GeminiApi(), ASK, {"generationConfig": {"maxOutputTokens": FEW},
                            "generation_config": {"maxOutputTokens": MANY}}),
        (GeminiApi(), ASK, {"generationConfig": {"maxOutputTokens": FEW,
                                                 "max_output_tokens": f"{MANY} "}}),
    ],
)  # fmt: skip
async def test_limit_that_a_provider_reads_is_the_one_that_is_set_aside(
    api: ModelApi, path: str, body: dict[str, Any]
):
    got, reserved = await passed(api, path, body)

    assert reserved == FEW
    assert set(numbers_in(got)) == {FEW}


@pytest.mark.parametrize(
    ("api", "path", "body"),
    [
        (OpenAiApi(), CHAT, {"max_tokens": FEW, "n": "8 "}),
        (GeminiApi(), ASK, {"generationConfig": {"maxOutputTokens": FEW, "candidateCount": "8 "}}),
    ],
)
async def test_number_of_answers_that_nobody_can_read_is_one(
    api: ModelApi, path: str, body: dict[str, Any]
):
    got, reserved = await passed(api, path, body)

    assert reserved == FEW
    assert "8 " not in numbers_in(got)


@pytest.mark.parametrize(
    ("api", "path", "body"),
    [
        (OpenAiApi(), CHAT, {"max_tokens": FEW, "service_tier": "priority"}),
        (OpenAiApi(), RESPONSES, {"max_output_tokens": FEW, "service_tier": "priority"}),
        (AnthropicApi(), MESSAGES, {"max_tokens": FEW, "speed": "fast"}),
        (AnthropicApi(), MESSAGES, {"max_tokens": FEW, "inference_geo": "us"}),
        (GeminiApi(), ASK, {"generationConfig": {"maxOutputTokens": FEW}, "serviceTier": "x"}),
    ],
)
async def test_dearer_service_is_not_asked_for_under_a_budget_only(
    api: ModelApi, path: str, body: dict[str, Any]
):
    (dearer,) = body.keys() & {"service_tier", "speed", "serviceTier", "inference_geo"}
    without, _ = await passed(api, path, body)
    whole, _ = await passed(api, path, body, budget=None)

    assert dearer not in without
    assert whole[dearer] == body[dearer]


@pytest.mark.parametrize("budget", [BUDGET, None])
@pytest.mark.parametrize(
    ("api", "path", "limit"),
    [
        (OpenAiApi(), CHAT, {"max_tokens": FEW}),
        (OpenAiApi(), RESPONSES, {"max_output_tokens": FEW}),
        (AnthropicApi(), MESSAGES, {"max_tokens": FEW}),
        (GeminiApi(), ASK, {"generationConfig": {"maxOutputTokens": FEW}}),
    ],
)
@pytest.mark.parametrize(
    "said",
    [
        {"extra_body": {"max_tokens": MANY, "n": 9}},
        {"extra_headers": {"x-limit": "none"}},
        {"user_config": {"model_list": [{"model_name": "m"}]}, "model_list": ["m"]},
        {"api_base": "https://example.com", "api_key": "mine", "base_url": "https://example.com"},
        {"context_window_fallback_dict": {"m": "dear"}, "fallbacks": ["dear"], "preset": "dear"},
    ],
    ids=["body", "headers", "configuration", "address", "models"],
)
async def test_proxy_is_told_to_send_nothing_else(
    api: ModelApi, path: str, limit: dict[str, Any], said: dict[str, Any], budget: Budget | None
):
    got, _ = await passed(api, path, {**limit, **said}, budget=budget)

    assert not got.keys() & said.keys()


async def test_model_of_the_class_has_no_others_to_fall_back_to():
    body = {"model": "x", "models": ["dear"], "fallbacks": ["dear"], "messages": []}
    got, _ = await passed(OpenAiApi(), CHAT, body, budget=None)

    assert got == {"model": "m", "messages": []}

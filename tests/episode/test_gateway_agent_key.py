"""A gateway that others of the machine can reach takes the key of its own agent alone."""

import pytest

from afresh.episode.gateway.model_api import ModelApi
from afresh.episode.gateway.providers.anthropic import AnthropicApi
from afresh.episode.gateway.providers.gemini import GeminiApi
from afresh.episode.gateway.providers.openai import OpenAiApi
from tests.episode.gateway_client import KEY, talking_to
from tests.episode.upstream import answers

AGENT_KEY = "afresh-of-this-episode"
WAYS = [
    pytest.param(AnthropicApi(), "/v1/messages", "x-api-key", "", id="Anthropic"),
    pytest.param(AnthropicApi(), "/v1/messages", "Authorization", "Bearer ", id="a bearer"),
    pytest.param(OpenAiApi(), "/v1/chat/completions", "Authorization", "Bearer ", id="OpenAI"),
    pytest.param(
        GeminiApi(), "/v1beta/models/gemini-x:generateContent", "x-goog-api-key", "", id="Gemini"
    ),
]


@pytest.mark.parametrize(("api", "path", "header", "before"), WAYS)
async def test_request_with_the_agents_key_is_sent_with_the_real_one(
    api: ModelApi, path: str, header: str, before: str
):
    headers = {header: f"{before}{AGENT_KEY}"}
    async with (
        talking_to(api, answers(200, b"{}"), agent_key=AGENT_KEY) as talk,
        talk.client.post(path, json={"model": "x"}, headers=headers) as answer,
    ):
        await answer.read()
        (asked,) = talk.provider.asked

    assert answer.status == 200
    assert KEY in str(asked.headers)
    assert AGENT_KEY not in str(asked.headers)


@pytest.mark.parametrize(("api", "path", "header", "before"), WAYS)
@pytest.mark.parametrize(
    "key",
    [
        pytest.param("afresh-of-another-episode", id="the key of another episode"),
        pytest.param("", id="an empty key"),
        pytest.param("held-by-the-gateway", id="what an agent sends in a cluster"),
    ],
)
async def test_request_with_another_key_is_refused_and_reaches_no_provider(
    api: ModelApi, path: str, header: str, before: str, key: str
):
    async with (
        talking_to(api, answers(200, b"{}"), agent_key=AGENT_KEY) as talk,
        talk.client.post(path, json={"model": "x"}, headers={header: f"{before}{key}"}) as answer,
    ):
        body = await answer.text()

    assert answer.status == 401
    assert "key" in body
    assert not talk.provider.asked
    assert talk.usage.turns == 0


async def test_request_without_a_key_can_ask_nothing_that_is_sent_on():
    async with (
        talking_to(AnthropicApi(), answers(200, b"{}"), agent_key=AGENT_KEY) as talk,
        talk.client.get("/v1/models") as answer,
    ):
        await answer.read()

    assert answer.status == 401
    assert not talk.provider.asked

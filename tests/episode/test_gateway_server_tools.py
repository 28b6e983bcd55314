"""Requests that would have the provider reach out for the agent, past what shuts the pod in."""

import json
from typing import Any

import pytest

from afresh.episode.gateway.model_api import ModelApi
from afresh.episode.gateway.providers.anthropic import AnthropicApi
from afresh.episode.gateway.providers.gemini import GeminiApi
from afresh.episode.gateway.providers.openai import OpenAiApi
from tests.episode.gateway_client import MESSAGES, talking_to
from tests.episode.upstream import answers

RESPONSES, CHAT = "/v1/responses", "/v1/chat/completions"
ASK = "/v1beta/models/gemini-x:generateContent"
COUNT = "/v1beta/models/gemini-x:countTokens"
WEB = "https://example.com/"
DATA = "data:image/png;base64,AA=="


def claude(*tools: dict[str, Any], content: Any = "Hi.", **fields: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": content}]
    return {"model": "m", "max_tokens": 9, "messages": messages, "tools": [*tools], **fields}


def part(**fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": [fields]}


def gemini(**given: Any) -> dict[str, Any]:
    return {"contents": [{"parts": [given]}]}


SHELL = {"type": "shell", "environment": {"type": "container_auto"}}
SEARCH = [{"googleSearch": {}}]
REFUSED = [
    (AnthropicApi(), MESSAGES, claude({"type": "web_search_20250305", "name": "w"})),
    (AnthropicApi(), MESSAGES, claude({"type": "web_fetch_20250910", "name": "w"})),
    (AnthropicApi(), MESSAGES, claude({"type": "code_execution_20250825", "name": "c"})),
    (AnthropicApi(), MESSAGES, claude({"type": 5})),
    (AnthropicApi(), MESSAGES, claude(mcp_servers=[{"type": "url", "url": WEB}])),
    (AnthropicApi(), MESSAGES, claude(container="c1")),
    (AnthropicApi(), MESSAGES,
     claude(content=[{"type": "image", "source": {"type": "url", "url": WEB}}])),
    (AnthropicApi(), MESSAGES,
     claude(content=[{"type": "document", "source": {"type": "file", "file_id": "f"}}])),
    (AnthropicApi(), MESSAGES,
     claude(content=[{"type": "tool_result", "content": [
         {"type": "document", "source": {"type": "url", "url": WEB}}]}])),
    (AnthropicApi(), f"{MESSAGES}/count_tokens",
     claude(content=[{"type": "image", "source": {"type": "url", "url": WEB}}])),
    *[(OpenAiApi(), RESPONSES, {"input": "Hi.", "tools": [{"type": kind}]})
      for kind in ("web_search", "web_search_preview", "file_search", "code_interpreter",
                   "computer_use_preview", "mcp", "image_generation", "new_tool")],
    (OpenAiApi(), RESPONSES, {"input": "Hi.", "tools": [SHELL]}),
    (OpenAiApi(), RESPONSES,
     {"input": "Hi.", "tools": [{"type": "namespace", "tools": [{"type": "mcp"}]}]}),
    (OpenAiApi(), RESPONSES, {"prompt": {"id": "p1"}}),
    (OpenAiApi(), RESPONSES, {"input": "Hi.", "previous_response_id": "r1"}),
    (OpenAiApi(), RESPONSES, {"input": "Hi.", "conversation": "c1"}),
    (OpenAiApi(), RESPONSES, {"input": [part(type="input_image", image_url=WEB)]}),
    (OpenAiApi(), RESPONSES, {"input": [part(type="input_file", file_url=WEB)]}),
    (OpenAiApi(), RESPONSES,
     {"input": [{"type": "function_call_output", "output": [{"image_url": WEB}]}]}),
    (OpenAiApi(), RESPONSES,
     {"input": [{"type": "computer_call_output", "output": {"image_url": WEB}}]}),
    (OpenAiApi(), CHAT, {"messages": [], "web_search_options": {}}),
    (OpenAiApi(), CHAT, {"messages": [part(type="image_url", image_url={"url": WEB})]}),
    (OpenAiApi(), CHAT, {"messages": [], "model": "gpt-4o-search-preview"}),
    (OpenAiApi(), CHAT, {"messages": [], "plugins": [{"id": "web"}]}),
    *[(GeminiApi(), ASK, {**gemini(text="Hi."), "tools": [{name: {}}]})
      for name in ("googleSearch", "google_search", "googleSearchRetrieval", "urlContext",
                   "url_context", "codeExecution", "code_execution", "newTool")],
    (GeminiApi(), ASK, {**gemini(text="Hi."), "tools": {"googleSearch": {}}}),
    (GeminiApi(), ASK, gemini(fileData={"fileUri": WEB})),
    (GeminiApi(), ASK, gemini(file_data={"file_uri": WEB})),
    (GeminiApi(), ASK, gemini(functionResponse={"parts": [{"fileData": {"fileUri": WEB}}]})),
    (GeminiApi(), ASK, {"systemInstruction": {"parts": [{"fileData": {"fileUri": WEB}}]}}),
    (GeminiApi(), ASK, {**gemini(text="Hi."), "cachedContent": "cachedContents/c1"}),
    (GeminiApi(), COUNT, {"generateContentRequest": {"tools": SEARCH}}),
]  # fmt: skip
PASSED = [
    (AnthropicApi(), MESSAGES, claude(
        {"name": "read"}, {"type": "custom", "name": "x"}, {"type": "bash_20250124"},
        content=[{"type": "image", "source": {"type": "base64", "data": "AA=="}},
                 {"type": "tool_use", "input": {"source": {"type": "url"}}}])),
    (OpenAiApi(), RESPONSES, {
        "tools": [{"type": "function"}, {"type": "custom"}, {"type": "local_shell"}],
        "input": [part(type="input_image", image_url=DATA),
                  {"type": "function_call_output", "output": "https://example.com"}]}),
    (OpenAiApi(), CHAT, {"messages": [part(type="image_url", image_url={"url": DATA})],
                         "tools": [{"type": "function", "function": {"name": "web_search"}}]}),
    (GeminiApi(), ASK, {**gemini(inlineData={"data": "AA=="}),
                        "tools": [{"functionDeclarations": [{"name": "google_search"}]}]}),
]  # fmt: skip


@pytest.mark.parametrize(("api", "path", "body"), REFUSED)
async def test_request_that_has_the_provider_reach_out_is_refused_in_the_apis_form(
    api: ModelApi, path: str, body: dict[str, Any]
):
    async with talking_to(api, answers(200, b"{}")) as talk:
        status, received = await talk.ask(body, path)

    assert status == 400
    assert "must not use other services" in json.loads(received)["error"]["message"]
    assert talk.provider.asked == []
    assert talk.usage.turns == 0


@pytest.mark.parametrize(("api", "path", "body"), PASSED)
async def test_request_with_the_programs_own_tools_passes(
    api: ModelApi, path: str, body: dict[str, Any]
):
    async with talking_to(api, answers(200, b"{}")) as talk:
        status, _ = await talk.ask(body, path)

    assert status == 200


async def test_provider_may_reach_out_where_the_class_allows_it():
    _, path, body = REFUSED[0]
    async with talking_to(AnthropicApi(), answers(200, b"{}"), server_tools=True) as talk:
        await talk.ask(body, path)

    assert json.loads(talk.provider.asked[0].body) == body


async def test_name_that_is_given_twice_hides_no_tool():
    body = b'{"tools": [{"type": "mcp"}], "tools": [], "input": "Hi."}'
    async with talking_to(OpenAiApi(), answers(200, b"{}")) as talk:
        await talk.client.post(RESPONSES, data=body)

    assert b"mcp" not in talk.provider.asked[0].body

"""The scripted model behind both OpenAI APIs: turns, streams, usage and refusals in their form."""

import json
from typing import Any

import pytest

from tests.server_process import Answer, Server
from tools.fakemodel.tests.model_client import KEY

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
COMMANDS = ("first", "second")
PROMPT = "\n".join(f"demo-model: shell echo {word}" for word in COMMANDS)
REFUSALS = {
    "unauthorized": (401, "invalid_api_key"),
    "no-credit": (429, "insufficient_quota"),
    "rate-limited": (429, "rate_limit_exceeded"),
    "server-error": (500, None),
    "unavailable": (503, None),
    "overloaded": (529, None),
}


def send(server: Server, path: str, prompt: str, *results: str, **fields: Any) -> Answer:
    """Send a prompt and its finished turns, in the form of the API at `path`."""
    body = _chat(prompt, results) if path == CHAT else _responses(prompt, results)
    text = json.dumps({"model": "gpt-5", **body, **fields}).encode()
    return server.ask("POST", path, text, {"authorization": f"Bearer {KEY}"})


def _chat(prompt: str, results: tuple[str, ...]) -> dict[str, Any]:
    said = ["<system-reminder>\nToday is Monday.\n</system-reminder>", prompt]
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": [{"type": "text", "text": text} for text in said]},
    ]
    for number, result in enumerate(results):
        function = {"name": "bash", "arguments": "{}"}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
    tools = [{"type": "function", "function": {"name": "bash"}}]
    return {"messages": messages, "tools": tools}


def _responses(prompt: str, results: tuple[str, ...]) -> dict[str, Any]:
    added = [{"type": "input_text", "text": "<environment_context>here</environment_context>"}]
    said = [{"type": "input_text", "text": prompt}]
    items: list[dict[str, Any]] = [
        {"type": "message", "role": "user", "content": added},
        {"type": "message", "role": "user", "content": said},
    ]
    for number, result in enumerate(results):
        call = {"call_id": f"c{number}", "name": "exec_command", "arguments": "{}"}
        items.append({"type": "function_call", **call})
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": result})
    return {"input": items, "tools": [{"type": "function", "name": "exec_command"}]}


def events(answer: Answer) -> list[dict[str, Any]]:
    """Return what a stream holds, without the mark of its end."""
    lines = [line for line in answer.body.decode().splitlines() if line.startswith("data: {")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def command_of(path: str, whole: dict[str, Any]) -> str | None:
    """Return the command that an answer in one piece wants to be run, if any."""
    if path == CHAT:
        calls = whole["choices"][0]["message"].get("tool_calls", [])
        arguments = [json.loads(call["function"]["arguments"]) for call in calls]
    else:
        calls = [item for item in whole["output"] if item["type"] == "function_call"]
        arguments = [json.loads(call["arguments"]) for call in calls]
    return next((given.get("command", given.get("cmd")) for given in arguments), None)


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
@pytest.mark.parametrize(
    ("results", "want"),
    [
        pytest.param((), "echo first", id="the first turn"),
        pytest.param(("a",), "echo second", id="the second turn"),
        pytest.param(("a", "b"), None, id="the end"),
    ],
)
def test_turn_follows_from_what_the_tools_have_answered(
    model_server: Server, path: str, results: tuple[str, ...], want: str | None
) -> None:
    answer = send(model_server, path, PROMPT, *results)

    assert answer.status == 200
    assert command_of(path, answer.json()) == want


def test_word_of_the_program_after_a_broken_answer_is_no_new_prompt(model_server: Server) -> None:
    messages = _chat(PROMPT, ("a",))["messages"]
    broken = {"role": "assistant", "content": "I will"}
    word = {"role": "user", "content": "The connection dropped mid-response. Resume directly."}

    answer = send(model_server, CHAT, "", messages=[*messages, broken, word])

    assert command_of(CHAT, answer.json()) == "echo second"


def test_several_calls_of_one_response_are_one_turn(model_server: Server) -> None:
    items = _responses(PROMPT, ("a", "b"))["input"]
    at_once = [*items[:2], items[2], items[4], items[3], items[5]]

    answer = send(model_server, RESPONSES, "", input=at_once)

    assert command_of(RESPONSES, answer.json()) == "echo second"


def test_streamed_response_carries_the_same_answer_as_one_in_one_piece(
    model_server: Server,
) -> None:
    whole = send(model_server, RESPONSES, PROMPT).json()

    streamed = events(send(model_server, RESPONSES, PROMPT, stream=True))

    assert [event["sequence_number"] for event in streamed] == list(range(len(streamed)))
    assert streamed[0]["type"] == "response.created"
    assert streamed[-1]["response"] == whole
    assert [e["item"] for e in streamed if e["type"] == "response.output_item.done"] == (
        whole["output"]
    )


@pytest.mark.parametrize(
    ("options", "want"),
    [
        pytest.param({}, [], id="not asked for"),
        pytest.param({"stream_options": {"include_usage": True}}, [[]], id="asked for"),
    ],
)
def test_streamed_completion_tells_its_usage_where_it_is_asked_for(
    model_server: Server, options: dict[str, Any], want: list[list[object]]
) -> None:
    answer = send(model_server, CHAT, PROMPT, stream=True, **options)

    chunks = events(answer)
    assert [chunk["choices"] for chunk in chunks if chunk.get("usage")] == want
    assert answer.body.endswith(b"data: [DONE]\n\n")
    finishes = [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]]
    assert finishes[-1] == "tool_calls"


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (CHAT, ("prompt_tokens", "prompt_tokens_details")),
        (RESPONSES, ("input_tokens", "input_tokens_details")),
    ],
)
def test_cached_tokens_are_part_of_the_input_from_the_second_turn_on(
    model_server: Server, path: str, names: tuple[str, str]
) -> None:
    first, second = (send(model_server, path, PROMPT, *past).json() for past in ((), ("a" * 400,)))

    whole, details = names
    assert first["usage"][details]["cached_tokens"] == 0
    assert 0 < second["usage"][details]["cached_tokens"] < second["usage"][whole]
    assert second["usage"][whole] > first["usage"][whole] + 100


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
@pytest.mark.parametrize("name", REFUSALS)
def test_refusal_is_an_error_of_its_kind(model_server: Server, path: str, name: str) -> None:
    status, code = REFUSALS[name]

    answer = send(model_server, path, f"demo-model: {name}", stream=True)

    assert answer.status == status
    assert answer.json()["error"]["code"] == code


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_key_is_a_bearer_token(model_server: Server, path: str) -> None:
    answer = model_server.ask("POST", path, b"{}", {"x-api-key": KEY})

    assert (answer.status, answer.json()["error"]["code"]) == (401, "invalid_api_key")


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_model_of_another_provider_is_not_there(model_server: Server, path: str) -> None:
    assert send(model_server, path, PROMPT, model="claude-x").status == 404


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_request_of_another_form_makes_no_sense(model_server: Server, path: str) -> None:
    answer = send(model_server, path, PROMPT, messages=3, input=3)

    assert answer.status == 400

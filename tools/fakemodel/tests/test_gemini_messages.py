"""The model server as the Gemini API: its key, its routes, its streams and its token counts."""

import json
from typing import Any

import pytest

from tests.server_process import Answer, Server
from tools.fakemodel.tests.model_client import KEY, SUBTASKS, subtask_brief

BRIEF = subtask_brief(SUBTASKS[0])
MODELS = "/v1beta/models"
WHOLE = f"{MODELS}/gemini-2.5-pro:generateContent"
STREAM = f"{MODELS}/gemini-2.5-pro:streamGenerateContent?alt=sse"
COUNT = f"{MODELS}/gemini-2.5-pro:countTokens"
PLACE = "<session_context>\nToday is a day.\n</session_context>"


def request_body(prompt: str, *results: str) -> dict[str, Any]:
    """A request as Gemini CLI makes it, after turns whose commands printed `results`."""
    contents: list[dict[str, Any]] = [
        {"role": "user", "parts": [{"text": PLACE}, {"text": prompt}]}
    ]
    for result in results:
        call = {"functionCall": {"name": "run_shell_command", "args": {"command": "true"}}}
        output = f"<untrusted_context>\nOutput: {result}\n</untrusted_context>"
        answer = {"name": "run_shell_command", "response": {"output": output}}
        contents.append({"role": "model", "parts": [call]})
        contents.append({"role": "user", "parts": [{"functionResponse": answer}]})
    names = ("read_file", "write_file", "replace", "run_shell_command")
    return {
        "contents": contents,
        "systemInstruction": {"parts": [{"text": "You are an agent. " * 100}]},
        "tools": [{"functionDeclarations": [{"name": name} for name in names]}],
    }


def send(server: Server, body: dict[str, Any], path: str = WHOLE, key: str = KEY) -> Answer:
    """Send a request with a key."""
    return server.ask("POST", path, json.dumps(body).encode(), {"x-goog-api-key": key})


def parts_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    (candidate,) = answer["candidates"]
    parts: list[dict[str, Any]] = candidate["content"]["parts"]
    return parts


@pytest.mark.parametrize("path", [WHOLE, STREAM, COUNT])
def test_a_wrong_key_is_a_bad_request(model_server: Server, path: str) -> None:
    answer = send(model_server, request_body(BRIEF), path, key="wrong")

    error = answer.json()["error"]
    assert (answer.status, error["code"], error["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert error["details"][0]["reason"] == "API_KEY_INVALID"


@pytest.mark.parametrize("results", [(), ("tokens.py is not there",)])
def test_a_streamed_answer_adds_up_to_the_answer_in_one_piece(
    model_server: Server, results: tuple[str, ...]
) -> None:
    body = request_body(BRIEF, *results)
    whole = send(model_server, body).json()

    streamed = send(model_server, body, STREAM)
    lines = streamed.body.decode().strip().split("\r\n\r\n")
    pieces = [json.loads(line.removeprefix("data: ")) for line in lines]

    assert streamed.headers["content-type"] == "text/event-stream"
    parts = [part for piece in pieces for part in parts_of(piece)]
    said = "".join(part.get("text", "") for part in parts)
    calls = [part for part in parts if "functionCall" in part]
    assert [{"text": said}, *calls] == parts_of(whole)
    ends = [piece["candidates"][0].get("finishReason") for piece in pieces]
    assert ends == [None] * (len(pieces) - 1) + ["STOP"]
    assert pieces[-1]["usageMetadata"] == whole["usageMetadata"]


def test_what_a_request_repeats_is_read_from_the_cache_and_part_of_the_prompt(
    model_server: Server,
) -> None:
    first = send(model_server, request_body(BRIEF)).json()["usageMetadata"]
    later = send(model_server, request_body(BRIEF, "not there")).json()["usageMetadata"]

    assert "cachedContentTokenCount" not in first
    assert later["cachedContentTokenCount"] == first["promptTokenCount"]
    assert later["promptTokenCount"] > later["cachedContentTokenCount"]
    count = send(model_server, request_body(BRIEF), COUNT).json()
    assert count == {"totalTokens": first["promptTokenCount"]}


def test_models_are_listed(model_server: Server) -> None:
    answer = model_server.ask("GET", MODELS, None, {"x-goog-api-key": KEY})

    assert "models/gemini-2.5-pro" in [model["name"] for model in answer.json()["models"]]


@pytest.mark.parametrize(
    ("behaviour", "status", "word", "detail"),
    [
        ("no-credit", 429, "RESOURCE_EXHAUSTED", None),
        ("rate-limited retry-after=34", 429, "RESOURCE_EXHAUSTED", "34s"),
        ("server-error", 500, "INTERNAL", None),
        ("unavailable", 503, "UNAVAILABLE", None),
        ("overloaded", 529, "UNAVAILABLE", None),
    ],
)
def test_a_failure_has_the_form_of_the_api(
    model_server: Server, behaviour: str, status: int, word: str, detail: str | None
) -> None:
    answer = send(model_server, request_body(f"demo-model: {behaviour}"))

    error = answer.json()["error"]
    assert (answer.status, error["code"], error["status"]) == (status, status, word)
    assert [item.get("retryDelay") for item in error["details"]] == ([detail] if detail else [])


@pytest.mark.parametrize(
    ("path", "want"),
    [
        (f"{MODELS}/other:generateContent", 404),
        (f"{MODELS}/gemini-2.5-pro:predict", 404),
        (f"{MODELS}/gemini-2.5-pro", 404),
        ("/v1beta/cachedContents", 404),
    ],
)
def test_there_is_no_other_model_and_no_other_method(
    model_server: Server, path: str, want: int
) -> None:
    answer = send(model_server, request_body(BRIEF), path)

    assert (answer.status, answer.json()["error"]["status"]) == (want, "NOT_FOUND")


def test_a_form_is_filled_in_where_a_request_wants_one(model_server: Server) -> None:
    fields = {"score": {"type": "INTEGER"}, "reason": {"type": "STRING"}}
    config = {"responseJsonSchema": {"type": "OBJECT", "properties": fields}}

    answer = send(model_server, request_body(BRIEF) | {"generationConfig": config}).json()

    assert json.loads(parts_of(answer)[0]["text"]) == {"score": 1, "reason": "nothing to say"}

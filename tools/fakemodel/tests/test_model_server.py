"""The model server as an API: its key, its routes, its streams and its token counts."""

import json
import socket
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.server_process import TIMEOUT_SECONDS, Server, running, start
from tools.fakemodel.tests.model_client import (
    KEY,
    SUBTASKS,
    ask,
    conversation,
    events_of,
    request_body,
    send,
    subtask_brief,
)

BRIEF = subtask_brief(SUBTASKS[0])


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="no key"),
        pytest.param({"x-api-key": ""}, id="an empty key"),
        pytest.param({"x-api-key": KEY + "x"}, id="a wrong key"),
        pytest.param({"cookie": KEY}, id="the key in another header"),
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/messages"), ("POST", "/v1/messages/count_tokens"), ("GET", "/v1/models")],
)
def test_a_request_without_the_key_is_an_authentication_error(
    model_server: Server, headers: dict[str, str], method: str, path: str
) -> None:
    body = json.dumps(request_body(conversation(BRIEF))).encode()

    answer = model_server.ask(method, path, body if method == "POST" else None, headers)

    want = {"type": "authentication_error", "message": "invalid x-api-key"}
    assert (answer.status, answer.json()) == (401, {"type": "error", "error": want})


def test_a_key_that_is_rotated_counts_at_once(tmp_path: Path) -> None:
    key_file = tmp_path / "api-key"
    key_file.write_text("old")
    with running(
        "tools.fakemodel.model_server", "--api-key-file", str(key_file), "--delay", "0"
    ) as server:
        key_file.write_text("new\n")
        body = request_body(conversation(BRIEF))
        statuses = [send(server, body, key=key).status for key in ("old", "new")]

    assert statuses == [401, 200]


@pytest.mark.parametrize("results", [(), ("tokens.py is not there",)])
def test_a_streamed_answer_adds_up_to_the_answer_in_one_piece(
    model_server: Server, results: tuple[str, ...]
) -> None:
    messages = conversation(BRIEF, results)
    whole = send(model_server, request_body(messages)).json()

    streamed = send(model_server, request_body(messages, stream=True))

    assert streamed.headers["content-type"] == "text/event-stream"
    assert message_of(events_of(streamed)) == whole


def message_of(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Put a message together from its events, as a client does."""
    message: dict[str, Any] = events[0]["message"]
    for event in events[1:]:
        match event["type"]:
            case "content_block_start":
                message["content"].append({**event["content_block"], "written": ""})
            case "content_block_delta":
                delta = event["delta"]
                key = "text" if delta["type"] == "text_delta" else "partial_json"
                message["content"][event["index"]]["written"] += delta[key]
            case "message_delta":
                message |= event["delta"]
                message["usage"] |= event["usage"]
    assert [events[0]["type"], events[-1]["type"]] == ["message_start", "message_stop"]
    for block in message["content"]:
        written = block.pop("written")
        block.update(
            {"text": written} if block["type"] == "text" else {"input": json.loads(written)}
        )
    return message


def test_a_later_turn_reads_from_the_cache_what_the_earlier_one_sent(model_server: Server) -> None:
    first, second = (
        ask(model_server, BRIEF, results).json()["usage"] for results in ((), ("a result",))
    )

    assert first["cache_read_input_tokens"] == 0
    assert first["cache_creation_input_tokens"] > 500
    assert second["cache_read_input_tokens"] == first["cache_creation_input_tokens"]
    assert 0 < second["cache_creation_input_tokens"] < first["cache_creation_input_tokens"]
    assert first["output_tokens"] > 20


def test_another_server_gives_the_same_answer_to_the_same_conversation(
    model_server: Server, tmp_path: Path
) -> None:
    key_file = tmp_path / "api-key"
    key_file.write_text(KEY)
    with running(
        "tools.fakemodel.model_server", "--api-key-file", str(key_file), "--delay", "0"
    ) as other:
        answers = [ask(server, BRIEF, ("", "")).json() for server in (model_server, other)]

    assert answers[0] == answers[1]


def test_a_request_body_in_chunks_is_understood(model_server: Server) -> None:
    text = json.dumps(request_body(conversation(BRIEF))).encode()
    chunks = (text[start : start + 700] for start in range(0, len(text), 700))

    answer = model_server.ask("POST", "/v1/messages", chunks, {"x-api-key": KEY})

    assert answer.json() == ask(model_server, BRIEF).json()


def test_a_count_of_tokens_is_what_the_message_then_costs(model_server: Server) -> None:
    body = request_body(conversation(BRIEF))

    counted = send(model_server, body, "/v1/messages/count_tokens").json()

    assert counted == {
        "input_tokens": ask(model_server, BRIEF).json()["usage"]["cache_creation_input_tokens"]
    }


def test_the_models_are_a_page_that_can_be_asked_for(model_server: Server) -> None:
    page = model_server.ask("GET", "/v1/models?limit=10", headers={"x-api-key": KEY}).json()

    models = [model["id"] for model in page["data"]]
    answers = [
        send(model_server, request_body(conversation(BRIEF), model=model)) for model in models
    ]
    assert [answer.json()["model"] for answer in answers] == models
    assert (page["first_id"], page["last_id"]) == (models[0], models[-1])


@pytest.mark.parametrize(("method", "path"), [("HEAD", "/"), ("GET", "/"), ("GET", "/healthz")])
def test_a_probe_needs_no_key(model_server: Server, method: str, path: str) -> None:
    answer = model_server.ask(method, path)

    assert (answer.status, answer.body) == (200, b"" if method == "HEAD" else b"ok\n")


@pytest.mark.parametrize(
    ("path", "text", "want"),
    [
        pytest.param("/v1/complete", b"{}", (404, "not_found_error"), id="another path"),
        pytest.param("/v1/messages", b"{", (400, "invalid_request_error"), id="no JSON"),
        pytest.param("/v1/messages", b"[]", (400, "invalid_request_error"), id="no object"),
        pytest.param("/v1/messages", b"{}", (400, "invalid_request_error"), id="no messages"),
        pytest.param(
            "/v1/messages", b'{"messages": [{}]}', (400, "invalid_request_error"), id="no message"
        ),
        pytest.param(
            "/v1/messages/count_tokens",
            b'{"messages": 1, "model": "claude-x"}',
            (400, "invalid_request_error"),
            id="messages of another type",
        ),
        pytest.param(
            "/v1/messages",
            b'{"messages": [], "model": "gpt-x"}',
            (404, "not_found_error"),
            id="a model of another family",
        ),
        pytest.param(
            "/v1/messages", bytes(33 * 1024 * 1024), (413, "request_too_large"), id="33 MiB"
        ),
    ],
)
def test_a_bad_request_is_an_error_that_says_what_kind(
    model_server: Server, path: str, text: bytes, want: tuple[int, str]
) -> None:
    body = iter([text]) if len(text) > 1_000_000 else text

    answer = model_server.ask("POST", path, body, {"x-api-key": KEY})

    error = answer.json()
    assert (answer.status, error["error"]["type"], error["type"]) == (*want, "error")


def test_a_server_that_is_told_to_end_does_so_while_a_client_waits(tmp_path: Path) -> None:
    key_file = tmp_path / "api-key"
    key_file.write_text(KEY)
    text = json.dumps(request_body(conversation("demo-model: hang"))).encode()
    head = f"POST /v1/messages HTTP/1.1\r\nx-api-key: {KEY}\r\nContent-Length: {len(text)}\r\n\r\n"
    with running(
        "tools.fakemodel.model_server", "--api-key-file", str(key_file), "--delay", "0"
    ) as server:
        client = socket.create_connection((server.host, server.port), timeout=TIMEOUT_SECONDS)
        with closing(client):
            client.sendall(head.encode() + text)
            server.process.terminate()
            code = server.process.wait(TIMEOUT_SECONDS)

    assert code == 0


def test_a_missing_key_file_ends_the_start_with_one_sentence_that_names_it(tmp_path: Path) -> None:
    with start("tools.fakemodel.model_server", "--api-key-file", str(tmp_path / "none")) as process:
        said, _ = process.communicate(timeout=TIMEOUT_SECONDS)

    want = f"model_server: {tmp_path / 'none'}: No such file or directory\n"
    assert (process.returncode, said) == (1, want)


def test_the_log_tells_the_steps_and_not_the_key(tmp_path: Path) -> None:
    key_file = tmp_path / "api-key"
    key_file.write_text(KEY)
    with running(
        "tools.fakemodel.model_server", "--api-key-file", str(key_file), "--delay", "0"
    ) as server:
        ask(server, BRIEF)

    log = "".join(server.log)
    assert "T001, brief 1, turn 1: Bash, Read, Read" in log
    assert KEY not in log


def test_a_context_that_goes_on_shows_how_many_briefs_it_holds(tmp_path: Path) -> None:
    key_file = tmp_path / "api-key"
    key_file.write_text(KEY)
    answered = {"role": "assistant", "content": [{"type": "text", "text": "That is all."}]}
    second = conversation(subtask_brief(SUBTASKS[1]))
    with running(
        "tools.fakemodel.model_server", "--api-key-file", str(key_file), "--delay", "0"
    ) as server:
        send(server, request_body([*conversation(BRIEF), answered, *second]))

    assert "T002, brief 2, turn 1: " in "".join(server.log)


def test_everybody_is_limited_for_as_long_as_the_limit_file_is_there(tmp_path: Path) -> None:
    key_file, limit_file = tmp_path / "api-key", tmp_path / "limited"
    key_file.write_text(KEY)
    arguments = ("--api-key-file", str(key_file), "--limit-file", str(limit_file), "--delay", "0")
    with running("tools.fakemodel.model_server", *arguments) as server:
        before = ask(server, BRIEF)
        limit_file.touch()
        meanwhile = ask(server, BRIEF)
        limit_file.unlink()
        after = ask(server, BRIEF)

    assert [before.status, meanwhile.status, after.status] == [200, 429, 200]
    assert meanwhile.json()["error"]["type"] == "rate_limit_error"
    assert meanwhile.headers["retry-after"] == "1"

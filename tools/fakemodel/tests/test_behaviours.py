"""The behaviours that a prompt can ask for, each as README.md says."""

import http.client
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.server_process import Server
from tools.fakemodel.tests.model_client import (
    KEY,
    SUBTASKS,
    Agent,
    ask,
    conversation,
    events_of,
    request_body,
    results_in,
    send,
    subtask_brief,
)

REFUSALS = {
    "unauthorized": (401, "authentication_error"),
    "no-credit": (400, "invalid_request_error"),
    "rate-limited": (429, "rate_limit_error"),
    "server-error": (500, "api_error"),
    "unavailable": (503, "api_error"),
    "overloaded": (529, "overloaded_error"),
}
BREAKS = ("reset", "empty", "cut-off", "hang")
ACTS = ("shell", "write", "blocked", "idle", "endless")


def prompt(line: str, name: str) -> str:
    """Return a prompt that only the test `name` sends: limited failures are counted by prompt."""
    return f"# {name}\n\nDo it.\n\n- {line}\n"


def test_the_readme_lists_every_behaviour_that_exists(model_server: Server) -> None:
    table = (
        (Path(__file__).parents[1] / "README.md")
        .read_text()
        .partition("| Name | What happens |")[2]
    )
    documented = re.findall(r"^\| `([\w-]+)[^`]*` \|", table, re.MULTILINE)

    refused = ask(model_server, "demo-model: nonsense").json()["error"]["message"]

    assert documented == [*REFUSALS, *BREAKS, *ACTS]
    assert refused.endswith(f"use one of {', '.join(documented)}")


@pytest.mark.parametrize("name", REFUSALS)
@pytest.mark.parametrize("is_stream", [True, False], ids=["streaming", "in one piece"])
def test_a_refusal_is_an_error_of_its_kind(
    model_server: Server, name: str, is_stream: bool
) -> None:
    body = request_body(conversation(f"demo-model: {name}"), stream=is_stream)

    answer = send(model_server, body)

    assert (answer.status, answer.json()["error"]["type"]) == REFUSALS[name]
    assert ("retry-after" in answer.headers) == (name == "rate-limited")


@pytest.mark.parametrize(
    ("line", "want"),
    [
        pytest.param("demo-model: rate-limited", "1", id="one second by default"),
        pytest.param("demo-model: rate-limited retry-after=7", "7", id="as long as asked"),
        pytest.param("demo-model: overloaded retry-after=7", "7", id="any refusal can say it"),
    ],
)
def test_a_refusal_says_when_to_come_back(model_server: Server, line: str, want: str) -> None:
    answer = ask(model_server, line)

    assert answer.headers["retry-after"] == want
    assert answer.headers["anthropic-ratelimit-requests-remaining"] == "0"


def test_a_reset_comes_before_any_answer(model_server: Server) -> None:
    with pytest.raises(ConnectionResetError):
        ask(model_server, "demo-model: reset")


@pytest.mark.parametrize("is_stream", [True, False], ids=["streaming", "in one piece"])
def test_an_empty_answer_is_a_success_with_nothing_in_it(
    model_server: Server, is_stream: bool
) -> None:
    answer = send(model_server, request_body(conversation("demo-model: empty"), stream=is_stream))

    assert (answer.status, answer.body) == (200, b"")


@pytest.mark.parametrize("is_stream", [True, False], ids=["streaming", "in one piece"])
def test_a_cut_off_answer_begins_and_does_not_end(model_server: Server, is_stream: bool) -> None:
    body = request_body(conversation("demo-model: cut-off"), stream=is_stream)

    with pytest.raises(http.client.IncompleteRead) as cut:
        send(model_server, body)

    assert (b"content_block_delta" in cut.value.partial) == is_stream
    assert cut.value.partial
    assert b"message_stop" not in cut.value.partial


def test_a_hanging_server_answers_nothing_and_goes_on_with_others(model_server: Server) -> None:
    connection = http.client.HTTPConnection(model_server.host, model_server.port, timeout=0.2)
    text = json.dumps(request_body(conversation("demo-model: hang")))
    connection.request("POST", "/v1/messages", text, {"x-api-key": KEY})

    with pytest.raises(TimeoutError):
        connection.getresponse()
    connection.close()

    assert ask(model_server, "demo-model: idle").status == 200


def test_a_limited_failure_ends_and_the_rest_of_the_prompt_is_done(
    model_server: Server, request: pytest.FixtureRequest
) -> None:
    brief = prompt("demo-model: overloaded times=2\n- demo-model: idle", request.node.name)
    other = prompt("demo-model: overloaded times=1", request.node.name)

    statuses = [
        ask(model_server, text).status for text in (brief, other, brief, brief, other, brief)
    ]

    assert statuses == [529, 529, 529, 200, 200, 200]


def test_a_delayed_failure_comes_after_the_work_has_begun(model_server: Server) -> None:
    brief = "demo-model: server-error after=2\n" + subtask_brief(SUBTASKS[0])

    statuses = [ask(model_server, brief, ("",) * turns).status for turns in range(4)]

    assert statuses == [200, 200, 500, 500]


def test_a_failure_leaves_the_script_of_a_subtask_as_it_is(
    model_server: Server, request: pytest.FixtureRequest
) -> None:
    brief = subtask_brief(SUBTASKS[0])
    failing = f"{brief}\n\n{prompt('demo-model: rate-limited times=1', request.node.name)}"

    ask(model_server, failing)

    want = ask(model_server, brief).json()["content"][0]
    assert ask(model_server, failing).json()["content"][0] == want


@pytest.mark.parametrize(
    ("lines", "want"),
    [
        pytest.param(
            "demo-model: shell echo one > 1.txt; cat 1.txt\ndemo-model: shell echo two",
            {"1.txt": "one\n"},
            id="commands are run",
        ),
        pytest.param(
            "demo-model: write docs/odd.md",
            {"docs/odd.md": "Nobody asked for this.\n"},
            id="a file",
        ),
        pytest.param(
            "demo-model: blocked The schema is not decided.",
            {".afresh/outbox/blocked.md": "The schema is not decided.\n"},
            id="a reason",
        ),
        pytest.param("demo-model: idle", {}, id="nothing"),
    ],
)
def test_an_act_is_done_by_the_agent_and_then_its_turn_ends(
    model_server: Server, tmp_path: Path, lines: str, want: dict[str, str]
) -> None:
    messages = Agent(model_server, tmp_path).work(prompt(lines, "act"))

    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {str(path.relative_to(tmp_path)): path.read_text() for path in files} == want
    assert messages[-1]["content"] == [{"type": "text", "text": "Done."}]


def test_commands_are_run_in_the_order_of_the_prompt(model_server: Server, tmp_path: Path) -> None:
    lines = "\n".join(f"demo-model: shell echo {word}" for word in ("one", "two", "three"))

    messages = Agent(model_server, tmp_path).work(lines)

    assert list(results_in(messages)) == ["one\n", "two\n", "three\n"]


def test_an_endless_agent_never_ends_its_turn(model_server: Server) -> None:
    for turns in (0, 1, 60):
        answer: dict[str, Any] = ask(model_server, "demo-model: endless", ("",) * turns).json()

        assert answer["stop_reason"] == "tool_use"


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("demo-model: nonsense", 'there is no behaviour "nonsense"'),
        ("demo-model: overloaded turns=3", 'there is no option "turns"'),
    ],
)
def test_a_line_that_asks_for_what_is_not_there_is_refused_by_name(
    model_server: Server, line: str, want: str
) -> None:
    answer = ask(model_server, line)

    assert answer.status == 400
    assert want in answer.json()["error"]["message"]


def test_a_streamed_act_is_a_use_of_a_tool(model_server: Server) -> None:
    body = request_body(conversation("demo-model: shell true"), stream=True)

    events = events_of(send(model_server, body))

    starts = [event["content_block"] for event in events if event["type"] == "content_block_start"]
    assert [(block["type"], block["name"]) for block in starts] == [("tool_use", "Bash")]

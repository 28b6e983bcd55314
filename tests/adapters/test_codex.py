"""Codex's call and the meaning of its events, as lines that it has really written."""

import json
import tomllib
from dataclasses import replace
from functools import partial

import pytest

from afresh.adapters.adapter import PLACEHOLDER_KEY, Context, Reader
from afresh.adapters.codex import CONFIG_FILE, KEY_VARIABLE, CodexAdapter
from afresh.contract.order import Agent
from afresh.contract.words import AdapterName, Outcome
from tests.adapters.streams import read as read_stream

read = partial(read_stream, AdapterName.CODEX)
AGENT = Agent(adapter=AdapterName.CODEX, max_turns=7)
THREAD = "01a20205-4b26-72c2-ab8d-b96697983aeb"
STARTED = {"type": "thread.started", "thread_id": THREAD}
TURN = {"type": "turn.started"}
GOOD = {"type": "turn.completed", "usage": {"input_tokens": 200, "output_tokens": 18}}
LIMITED = "exceeded retry limit, last status: 429 Too Many Requests"
TOO_LONG = (
    "Codex ran out of room in the model's context window. Start a new thread or clear earlier "
    "history before retrying."
)


def said(text: str) -> dict[str, object]:
    return {"type": "error", "message": text}


def failed(text: str) -> dict[str, object]:
    return {"type": "turn.failed", "error": {"message": text}}


def test_call_is_not_interactive_reads_the_brief_and_leaves_no_session():
    launch = CodexAdapter().launch(AGENT, "the brief", "http://127.0.0.1:8787")

    assert " ".join(launch.argv) == (
        "codex exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox"
        " --dangerously-bypass-hook-trust --ephemeral -"
    )
    assert launch.environment == {KEY_VARIABLE: PLACEHOLDER_KEY}


def test_configuration_leads_to_the_gateway_asks_it_seldom_again_and_nobody_else():
    launch = CodexAdapter().launch(AGENT, "", "http://127.0.0.1:8787")

    config = tomllib.loads(launch.home_files[CONFIG_FILE])
    assert config["model_providers"][config["model_provider"]] == {
        "name": "gateway",
        "base_url": "http://127.0.0.1:8787/v1",
        "wire_api": "responses",
        "env_key": KEY_VARIABLE,
        "request_max_retries": 2,
        "stream_max_retries": 1,
    }
    assert config["analytics"] == {"enabled": False}
    assert not any(config["features"].values())


def test_agent_with_its_own_credentials_is_given_no_provider_and_no_key():
    launch = CodexAdapter().launch(AGENT, "", None)

    config = tomllib.loads(launch.home_files[CONFIG_FILE])
    assert not {"model_provider", "model_providers", "openai_base_url"} & set(config)
    assert not config["features"]["plugins"]
    assert launch.environment == {}


@pytest.mark.parametrize("endpoint", ["https://x.example", "https://x.example/v1/"])
def test_agent_with_its_own_credentials_is_given_the_endpoint_of_the_class(endpoint: str):
    launch = CodexAdapter().launch(replace(AGENT, endpoint=endpoint), "", None)

    config = tomllib.loads(launch.home_files[CONFIG_FILE])
    assert config["openai_base_url"] == "https://x.example/v1"


def test_model_of_the_class_is_asked_for():
    launch = CodexAdapter().launch(replace(AGENT, model="gpt-x"), "", None)

    assert launch.argv[-3:] == ("--model", "gpt-x", "-")


def test_call_whose_conversation_goes_on_keeps_it_and_later_ones_name_it():
    first = CodexAdapter().launch(AGENT, "", None, Context(is_kept=True))
    later = CodexAdapter().launch(AGENT, "", None, Context(is_kept=True, session=THREAD))

    assert "--ephemeral" not in first.argv
    assert later.argv == ("codex", "exec", "resume", *first.argv[2:-1], THREAD, "-")


@pytest.mark.parametrize(
    ("reader", "exit_code", "want"),
    [
        pytest.param(read(STARTED, TURN, GOOD), 0, None, id="a completed turn and exit code 0"),
        pytest.param(
            read(TURN, said("Reconnecting... 1/1 (x)"), GOOD), 0, None, id="a fault it survived"
        ),
        pytest.param(
            read(TURN, said("x"), failed("x")), 1, Outcome.AGENT_ERROR, id="a failed turn"
        ),
        pytest.param(read(TURN, GOOD, failed("x")), 0, Outcome.AGENT_ERROR, id="the last decides"),
        pytest.param(read(TURN, GOOD, TURN), 0, Outcome.NO_RESULT, id="a turn that never ends"),
        pytest.param(
            read(STARTED, TURN), 1, Outcome.CONTEXT_EXHAUSTED, id="stopped before it is compacted"
        ),
        pytest.param(
            read(STARTED, TURN, errors=("Error: no server", "", "Caused by:", "    no route")),
            1,
            Outcome.AGENT_ERROR,
            id="a turn that stops with a word on standard error",
        ),
    ],
)
def test_end_of_a_run_is_judged_by_its_last_turn_and_exit_code(
    reader: Reader, exit_code: int, want: Outcome | None
):
    assert reader.verdict(exit_code).outcome is want


@pytest.mark.parametrize(
    ("event", "want"),
    [
        (STARTED, None),
        (
            {"type": "item.completed", "item": {"type": "agent_message", "text": "All\n done."}},
            "All done.",
        ),
        (
            {
                "type": "item.completed",
                "item": {
                    "type": "command_execution",
                    "command": "/bin/bash -lc 'ls'",
                    "aggregated_output": "a\nb\n",
                    "exit_code": 0,
                },
            },
            "/bin/bash -lc 'ls'\n-> a b (exit code 0)",
        ),
        (
            {"type": "item.completed", "item": {"type": "file_change", "changes": [{"path": "a"}]}},
            'changed: [{"path": "a"}]',
        ),
        (
            {"type": "item.completed", "item": {"type": "error", "message": "no\nnet"}},
            "error: no net",
        ),
        (
            {
                "type": "item.completed",
                "item": {
                    "type": "error",
                    "message": "`--dangerously-bypass-hook-trust` is enabled.",
                },
            },
            None,
        ),
        ({"type": "item.completed", "item": {"type": "reasoning"}}, None),
        ({"type": "item.completed", "item": None}, None),
        ({"type": "item.started", "item": {"type": "agent_message"}}, None),
        (GOOD, "result: the turn is completed"),
        (said("Reconnecting...\n1/1"), "error: Reconnecting... 1/1"),
        (failed("x"), "result: failed: x"),
        ({"type": "turn.failed", "error": None}, "result: failed:"),
    ],
)
def test_event_is_short_for_people_or_nothing(event: object, want: str | None):
    line = event if isinstance(event, str) else json.dumps(event)

    shown = read().event(line)

    assert (shown.rstrip() if shown else shown) == want


def item(kind: str, what: str, **more: object) -> dict[str, object]:
    return {"type": f"item.{kind}", "item": {"id": "item_1", "type": what, **more}}


def run(what: str = "command_execution") -> tuple[dict[str, object], ...]:
    return item("started", what), item("completed", what)


SAID = item("completed", "agent_message", text="Once more.")
BEGUN = item("started", "command_execution")
OVER = item("completed", "command_execution")
LONG = json.dumps(item("completed", "command_execution", aggregated_output="x"))[:-3]


@pytest.mark.parametrize(
    ("events", "want"),
    [
        pytest.param([], 0, id="nothing yet"),
        pytest.param([item("completed", "error", message="a remark")], 0, id="its own remarks"),
        pytest.param([SAID], 1, id="a last word"),
        pytest.param([item("completed", "reasoning"), SAID, BEGUN], 1, id="all of one answer"),
        pytest.param([SAID, *run()], 2, id="a tool that has run"),
        pytest.param([SAID, *run(), SAID, *run("file_change"), SAID], 3, id="one after another"),
        pytest.param([*run(), *run(), *run("mcp_tool_call")], 4, id="without a word"),
        pytest.param([BEGUN, BEGUN, OVER, OVER], 2, id="tools at once"),
        pytest.param([item("completed", "file_change")], 2, id="one whose start is not told"),
        pytest.param(
            [item("started", "todo_list"), item("updated", "todo_list")], 3, id="plans alone"
        ),
        pytest.param(
            [BEGUN, LONG.replace(": ", ":").replace(", ", ","), BEGUN], 2, id="a cut line"
        ),
        pytest.param([item("completed", ["x"]), {"type": "item.started", "item": 3}], 0, id="junk"),
    ],
)
def test_requests_are_counted_by_what_comes_of_them(events: list[object], want: int):
    assert read(*events, behind_gateway=False).asked == want

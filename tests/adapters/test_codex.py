"""Codex's call and the meaning of its events, as lines that it has really written."""

import json
import tomllib
from dataclasses import replace

import pytest

from afresh.adapters.adapter import PLACEHOLDER_KEY, Context
from afresh.adapters.codex import CONFIG_FILE, KEY_VARIABLE, CodexAdapter, CodexReader
from afresh.adapters.endings import FAILED
from afresh.contract.abilities import ABILITIES
from afresh.contract.order import Agent
from afresh.contract.words import AdapterName, Outcome

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


def read(*events: object, errors: tuple[str, ...] = (), behind_gateway: bool = True):
    reader = CodexReader(behind_gateway=behind_gateway)
    for event in events:
        reader.event(event if isinstance(event, str) else json.dumps(event, separators=(",", ":")))
    for line in errors:
        reader.error(line)
    return reader


def test_call_is_not_interactive_reads_the_brief_and_leaves_no_session():
    launch = CodexAdapter().launch(AGENT, "the brief", "http://127.0.0.1:8787")

    assert " ".join(launch.argv) == (
        "codex exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox"
        " --dangerously-bypass-hook-trust --ephemeral -"
    )
    assert launch.stdin == "the brief"
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

    assert ABILITIES[AdapterName.CODEX].resumes
    assert "--ephemeral" not in first.argv
    assert later.argv == ("codex", "exec", "resume", *first.argv[2:-1], THREAD, "-")


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (THREAD, THREAD),
        ("--last", None),
        (f"{THREAD}\n", None),
        ([THREAD], None),
        (None, None),
    ],
)
def test_session_is_what_the_events_say_if_it_can_be_one(value: object, want: str | None):
    assert read(STARTED | {"thread_id": value}).session == want


@pytest.mark.parametrize(
    ("reader", "exit_code", "want"),
    [
        pytest.param(read(STARTED, TURN, GOOD), 0, None, id="a completed turn and exit code 0"),
        pytest.param(
            read(TURN, said("Reconnecting... 1/1 (x)"), GOOD), 0, None, id="a fault it survived"
        ),
        pytest.param(read(TURN, GOOD), 1, Outcome.AGENT_ERROR, id="completed but exit code 1"),
        pytest.param(
            read(TURN, said("x"), failed("x")), 1, Outcome.AGENT_ERROR, id="a failed turn"
        ),
        pytest.param(read(TURN, failed("x")), 0, Outcome.AGENT_ERROR, id="failed, exit code 0"),
        pytest.param(read(TURN, GOOD, failed("x")), 0, Outcome.AGENT_ERROR, id="the last decides"),
        pytest.param(read(TURN, GOOD, TURN), 0, Outcome.NO_RESULT, id="a turn that never ends"),
        pytest.param(read(), 0, Outcome.NO_RESULT, id="no output at all"),
        pytest.param(read("not JSON", "{broken"), 0, Outcome.NO_RESULT, id="garbage only"),
        pytest.param(read(STARTED, TURN), 137, Outcome.AGENT_ERROR, id="killed"),
        pytest.param(
            read(STARTED, TURN), 1, Outcome.CONTEXT_EXHAUSTED, id="stopped before it is compacted"
        ),
        pytest.param(
            read(STARTED, TURN, errors=("Error: no server", "", "Caused by:", "    no route")),
            1,
            Outcome.AGENT_ERROR,
            id="a turn that stops with a word on standard error",
        ),
        pytest.param(read(), 127, Outcome.CONFIG, id="no such program"),
        pytest.param(read(), 126, Outcome.CONFIG, id="a program for another machine"),
        pytest.param(read(STARTED), 127, Outcome.AGENT_ERROR, id="127 of the program's own"),
        pytest.param(
            read(failed(TOO_LONG)), 1, Outcome.CONTEXT_EXHAUSTED, id="no room in the context"
        ),
        pytest.param(
            read(failed(LIMITED)),
            1,
            Outcome.AGENT_ERROR,
            id="a rate limit behind the gateway, which knows better",
        ),
    ],
)
def test_end_of_a_run_is_judged_by_its_last_turn_and_exit_code(
    reader: CodexReader, exit_code: int, want: Outcome | None
):
    assert reader.verdict(exit_code).outcome is want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("unexpected status 401 Unauthorized: no, url: https://x/v1/responses", Outcome.AUTH),
        ("unexpected status 403 Forbidden: no, url: https://x/v1/responses", Outcome.AUTH),
        ("Quota exceeded. Check your plan and billing details.", Outcome.AUTH),
        ("Missing environment variable: `AZURE_KEY`.", Outcome.AUTH),
        (LIMITED, Outcome.TRANSIENT),
        (
            "We\u2019re currently experiencing high demand, which may cause temporary errors.",
            Outcome.TRANSIENT,
        ),
        ("unexpected status 503 Service Unavailable: no, url: https://x", Outcome.TRANSIENT),
        ("unexpected status 529 <unknown status code>: no, url: https://x", Outcome.TRANSIENT),
        ("Selected model is at capacity. Please try a different model.", Outcome.TRANSIENT),
        ("rate limit exceeded: slow down", Outcome.TRANSIENT),
        ("You've hit your usage limit. Try again in 3 hours.", Outcome.TRANSIENT),
        ("Connection failed: error sending request", Outcome.TRANSIENT),
        (
            "stream disconnected before completion: stream closed before response.completed",
            Outcome.TRANSIENT,
        ),
        (TOO_LONG, Outcome.CONTEXT_EXHAUSTED),
        (
            "stream disconnected before completion: Request too large for gpt on tokens per min",
            Outcome.CONTEXT_EXHAUSTED,
        ),
        ("Incomplete response returned, reason: max_output_tokens", Outcome.AGENT_ERROR),
        ("unexpected status 404 Not Found: no, url: https://x", Outcome.AGENT_ERROR),
    ],
)
def test_program_that_reaches_its_model_by_itself_is_judged_by_its_words(text: str, want: Outcome):
    reader = read(TURN, said(text), failed(text), behind_gateway=False)

    assert reader.verdict(1).outcome is want


def test_program_that_fails_before_its_first_event_is_judged_by_its_standard_error():
    reader = read(errors=("Error: error loading config", ""), behind_gateway=False)

    verdict = reader.verdict(1)

    assert verdict.outcome is Outcome.AGENT_ERROR
    assert verdict.message == f"{FAILED} Details: Error: error loading config"


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
        ({"type": ["odd"]}, None),
        ("plain words", "plain words"),
        ("", None),
        ("[1, 2]", "[1, 2]"),
        ("{broken", "{broken"),
    ],
)
def test_event_is_short_for_people_or_nothing(event: object, want: str | None):
    line = event if isinstance(event, str) else json.dumps(event)

    shown = CodexReader(behind_gateway=True).event(line)

    assert (shown.rstrip() if shown else shown) == want


def test_text_of_a_failure_is_one_printable_line():
    reader = read(failed("first\nsecond \ud800 \x1b[1m third"))

    assert reader.verdict(1).message == f"{FAILED} Details: first second third"


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('{"a":' * 100_000, id="too deep to be read"),
        *(
            pytest.param(
                f'{{"type":"{kind}","{name}":{"[" * depth}{"]" * depth}}}', id=f"{kind} of {depth}"
            )
            for kind, name in (("item.completed", "item"), ("turn.failed", "error"))
            for depth in range(900, 1000, 7)
        ),
    ],
)
def test_event_of_any_depth_is_no_success_and_no_error_of_the_reader(line: str):
    reader = CodexReader(behind_gateway=True)

    reader.event(line)

    assert reader.verdict(0).outcome in (Outcome.NO_RESULT, Outcome.AGENT_ERROR)


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

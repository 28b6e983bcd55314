"""Qwen Code's call and the meaning of its events, as lines that it has really written."""

import json
from dataclasses import replace
from functools import partial

import pytest

from afresh.adapters.adapter import PLACEHOLDER_KEY, Context, Reader
from afresh.adapters.qwen import QwenAdapter
from afresh.contract.order import Agent
from afresh.contract.words import AdapterName, CredentialsMode, ModelApiName, Outcome
from tests.adapters.streams import read as read_stream

GATEWAY = "http://127.0.0.1:8787"
read = partial(read_stream, AdapterName.QWEN)
AGENT = Agent(
    adapter=AdapterName.QWEN,
    max_turns=7,
    credentials_mode=CredentialsMode.GATEWAY,
    secret_name="model-key",
)
SESSION = "0805987e-8a75-40fa-bc04-87c5a21af463"
HEAD = {"uuid": SESSION, "session_id": SESSION}
START = {"type": "system", "subtype": "init", **HEAD, "model": "qwen-x"}
GOOD = {"type": "result", "subtype": "success", **HEAD, "is_error": False, "num_turns": 2}
TURNS = "Reached max session turns for this session."


def says(*blocks: object) -> dict[str, object]:
    return {"type": "assistant", **HEAD, "message": {"role": "assistant", "content": list(blocks)}}


def answers(content: object, *, is_error: bool = False) -> dict[str, object]:
    block = {"type": "tool_result", "is_error": is_error, "content": content}
    return {"type": "user", **HEAD, "message": {"role": "user", "content": [block]}}


def failed(text: str) -> dict[str, object]:
    """The result of a run whose request was refused."""
    changes = {"subtype": "error_during_execution", "is_error": True}
    return {**GOOD, **changes, "error": {"message": f"[API Error: {text}]"}}


def cut(event: object) -> str:
    """Return the line of an event as far as it is read when it is too long."""
    return json.dumps(event, separators=(",", ":"))[:180]


@pytest.mark.parametrize(
    ("api", "model", "access"),
    [
        (
            ModelApiName.OPENAI,
            "gpt-5.1",
            {"OPENAI_BASE_URL": f"{GATEWAY}/v1", "OPENAI_API_KEY": PLACEHOLDER_KEY},
        ),
        (
            ModelApiName.ANTHROPIC,
            "claude-sonnet-4-5",
            {"ANTHROPIC_BASE_URL": GATEWAY, "ANTHROPIC_API_KEY": PLACEHOLDER_KEY},
        ),
    ],
)
def test_call_is_not_interactive_and_has_no_key_but_the_placeholder(
    api: ModelApiName, model: str, access: dict[str, str]
):
    launch = QwenAdapter().launch(replace(AGENT, model_api=api), "the brief", GATEWAY)

    assert " ".join(launch.argv) == (
        "qwen -o stream-json --approval-mode yolo --max-session-turns 7 --chat-recording=false"
        f" --auth-type {api.lower()} -m {model}"
    )
    assert launch.environment == {
        "QWEN_CODE_NO_RELAUNCH": "true",
        "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
        **access,
    }


def test_settings_bound_tries_keep_the_conversation_whole_and_send_nothing_that_nobody_asked_for():
    ((path, text),) = QwenAdapter().launch(AGENT, "", GATEWAY).home_files.items()

    settings = json.loads(text)
    assert path == ".qwen/settings.json"
    assert settings["model"] == {
        "generationConfig": {"contextWindowSize": 1_000_000_000, "maxRetries": 1}
    }
    groups = (settings["general"], settings["memory"], settings["privacy"], settings["telemetry"])
    assert groups == (
        {
            "enableAutoUpdate": False,
            "gitCoAuthor": {"commit": False, "pr": False},
            "preventSystemSleep": False,
        },
        {"enableManagedAutoDream": False, "enableManagedAutoMemory": False},
        {"usageStatisticsEnabled": False},
        {"enabled": False},
    )


def test_call_whose_conversation_goes_on_names_it():
    first = QwenAdapter().launch(AGENT, "", GATEWAY, Context(is_kept=True))
    later = QwenAdapter().launch(AGENT, "", GATEWAY, Context(is_kept=True, session=SESSION))

    assert "--chat-recording=true" in first.argv
    assert later.argv == (*first.argv, "--resume", SESSION)


def test_agent_with_its_own_credentials_is_given_no_address_no_key_and_no_way_to_log_in():
    own = replace(AGENT, credentials_mode=CredentialsMode.ENVIRONMENT, model="qwen-x")

    launch = QwenAdapter().launch(own, "", None)

    assert set(launch.environment) == {"QWEN_CODE_NO_RELAUNCH", "QWEN_CODE_SUPPRESS_YOLO_WARNING"}
    assert "--auth-type" not in launch.argv
    assert launch.argv[-2:] == ("-m", "qwen-x")


@pytest.mark.parametrize(
    ("reader", "exit_code", "want"),
    [
        pytest.param(read(START, cut(GOOD)), 0, None, id="a good result whose line is cut"),
        pytest.param(
            read(START, cut(failed("m"))),
            0,
            Outcome.AGENT_ERROR,
            id="a bad result whose line is cut",
        ),
        pytest.param(
            read({**GOOD, "is_error": True}), 0, Outcome.AGENT_ERROR, id="success with an error"
        ),
        pytest.param(
            read(START, errors=(TURNS,)), 53, Outcome.TURN_LIMIT, id="its own limit of turns"
        ),
        pytest.param(read(errors=("bad settings",)), 52, Outcome.CONFIG, id="its settings"),
    ],
)
def test_verdict_needs_a_good_result_and_a_good_exit_code(
    reader: Reader, exit_code: int, want: Outcome | None
):
    assert reader.verdict(exit_code).outcome is want


@pytest.mark.parametrize(
    ("event", "want"),
    [
        (START, "model: qwen-x"),
        (says({"type": "text", "text": "I read\nthe file."}), "I read the file."),
        (
            says({"type": "tool_use", "name": "run_shell_command", "input": {"command": "ls"}}),
            'run_shell_command: {"command": "ls"}',
        ),
        (answers("a\nb"), "-> a b"),
        (answers([{"type": "text", "text": "no such"}], is_error=True), "-> no such failed"),
        (GOOD, "result: success, error: False"),
        ({"type": "stream_event", "event": {"type": "goal_state"}}, None),
    ],
)
def test_event_is_one_line_for_people_or_nothing(event: object, want: str | None):
    line = event if isinstance(event, str) else json.dumps(event)

    assert read().event(line) == want

"""Gemini CLI's call and the meaning of its events, as lines that it has really written."""

import json
from dataclasses import replace
from functools import partial

import pytest

from afresh.adapters.adapter import PLACEHOLDER_KEY, Context, Reader
from afresh.adapters.endings import FAILED
from afresh.adapters.gemini import GeminiAdapter
from afresh.contract.order import Agent
from afresh.contract.words import AdapterName, Outcome
from tests.adapters.streams import read as read_stream

read = partial(read_stream, AdapterName.GEMINI)
AGENT = Agent(adapter=AdapterName.GEMINI, max_turns=7)
TIME = {"timestamp": "2026-11-22T07:09:50.422Z"}
SAID = {"type": "message", **TIME, "role": "assistant", "content": "Done.", "delta": True}
USED = {
    "type": "tool_use",
    **TIME,
    "tool_name": "run_shell_command",
    "tool_id": "1",
    "parameters": {"command": "ls"},
}
ANSWERED = {"type": "tool_result", **TIME, "tool_id": "1", "status": "success", "output": "a\nb"}
GOOD = {"type": "result", **TIME, "status": "success", "stats": {"total_tokens": 13}}
BAD = GOOD | {"status": "error"}
NO_FINISH = {
    "type": "error",
    **TIME,
    "severity": "error",
    "message": "Model stream ended without a finish reason.",
}
LOOP = NO_FINISH | {"severity": "warning", "message": "Loop detected, stopping execution"}
TURNS = NO_FINISH | {"message": "Maximum session turns exceeded"}


def failed(text: str) -> dict[str, object]:
    """The result of a run whose request was refused."""
    return BAD | {"error": {"type": "unknown", "message": f"[API Error: {text}]"}}


def test_call_is_not_interactive_and_reads_the_brief_from_standard_input():
    launch = GeminiAdapter().launch(AGENT, "the brief", "http://127.0.0.1:8787")

    assert " ".join(launch.argv) == ("gemini -o stream-json --approval-mode yolo --skip-trust")
    assert launch.environment == {
        "GEMINI_API_KEY": PLACEHOLDER_KEY,
        "GEMINI_CLI_NO_RELAUNCH": "true",
        "GEMINI_TELEMETRY_ENABLED": "false",
        "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:8787",
    }


def test_settings_bound_tries_and_turns_and_send_nothing_that_nobody_asked_for():
    launch = GeminiAdapter().launch(AGENT, "", "http://127.0.0.1:8787")

    ((path, text),) = launch.home_files.items()
    assert path == ".gemini/settings.json"
    assert json.loads(text) == {
        "general": {
            "maxAttempts": 2,
            "enableAutoUpdate": False,
            "enableAutoUpdateNotification": False,
        },
        "model": {"maxSessionTurns": 7, "compressionThreshold": 1},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
    }


def test_call_whose_conversation_goes_on_names_it():
    session = "0a4da9ee-958a-47d2-8a18-d70da1de9768"

    first = GeminiAdapter().launch(AGENT, "", None, Context(is_kept=True))
    later = GeminiAdapter().launch(AGENT, "", None, Context(is_kept=True, session=session))

    assert later.argv == (*first.argv, "--resume", session)


def test_model_of_the_class_is_asked_for_by_name():
    launch = GeminiAdapter().launch(replace(AGENT, model="gemini-x"), "", None)

    assert launch.argv[-2:] == ("-m", "gemini-x")


def test_agent_with_its_own_credentials_is_given_no_base_url_no_key_and_no_way_to_log_in():
    launch = GeminiAdapter().launch(AGENT, "", None)

    assert not {"GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"} & set(launch.environment)
    assert "selectedType" not in str(launch.home_files)


@pytest.mark.parametrize(
    ("reader", "exit_code", "want"),
    [
        pytest.param(read(USED, ANSWERED, SAID, GOOD), 0, None, id="a last word after tools"),
        pytest.param(read(NO_FINISH, SAID, GOOD), 0, None, id="an error that it survived"),
        pytest.param(
            read(USED, ANSWERED, GOOD),
            0,
            Outcome.CONTEXT_EXHAUSTED,
            id="no word after the last tool: the context has no room",
        ),
        pytest.param(read(GOOD), 0, Outcome.CONTEXT_EXHAUSTED, id="no word at all"),
        pytest.param(read(SAID), 0, Outcome.NO_RESULT, id="TERM, which gives exit code 0"),
        pytest.param(read(NO_FINISH, BAD), 0, Outcome.AGENT_ERROR, id="an error, exit code 0"),
        pytest.param(read(failed("m")), 173, Outcome.AGENT_ERROR, id="429 modulo 256"),
        pytest.param(read(SAID, LOOP, GOOD), 0, Outcome.AGENT_ERROR, id="it goes round in circles"),
        pytest.param(read(SAID, TURNS, GOOD), 0, Outcome.TURN_LIMIT, id="its own limit of turns"),
        pytest.param(read(BAD), 53, Outcome.TURN_LIMIT, id="its limit of requests"),
        pytest.param(read(errors=("no key",), behind_gateway=False), 41, Outcome.AUTH, id="no key"),
        pytest.param(
            read(errors=("Invalid auth method selected.",)),
            41,
            Outcome.CONFIG,
            id="another way to log in than the gateway's",
        ),
        pytest.param(read(errors=("bad settings",)), 52, Outcome.CONFIG, id="its settings"),
        pytest.param(read(errors=("untrusted",)), 55, Outcome.CONFIG, id="an untrusted folder"),
        pytest.param(
            read(SAID, json.dumps(GOOD, separators=(",", ":"))[:80]),
            0,
            None,
            id="a good result whose line is cut",
        ),
        pytest.param(
            read(SAID, json.dumps(BAD, separators=(",", ":"))[:80]),
            0,
            Outcome.AGENT_ERROR,
            id="a bad result whose line is cut",
        ),
        pytest.param(
            read(ANSWERED, json.dumps(SAID, separators=(",", ":"))[:90], GOOD),
            0,
            None,
            id="a last word whose line is cut",
        ),
    ],
)
def test_verdict_needs_a_good_result_a_last_word_and_a_good_exit_code(
    reader: Reader, exit_code: int, want: Outcome | None
):
    assert reader.verdict(exit_code).outcome is want


def test_failure_has_the_last_error_if_the_result_has_none():
    assert read(NO_FINISH, BAD).verdict(0).message == (
        f"{FAILED} Details: Model stream ended without a finish reason."
    )
    assert read(errors=("one", "two", " ")).verdict(42).message == (
        "The agent program refuses to run; correct the setting that the details name. Details: two"
    )


def test_places_in_the_program_are_no_words_for_people():
    reader = read()
    lines = (
        "Attempt 1 failed with status 503. _ApiError: the model is overloaded",
        "    at throwErrorIfNotOK (file:///opt/gemini-cli/bundle/chunk.js:267833:24)",
        "    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)",
        "    at async file:///opt/gemini-cli/bundle/chunk.js:267596:7",
        "  at noon the tests pass (nearly)",
    )

    assert [reader.error(line) for line in lines] == [lines[0], None, None, None, lines[4]]


@pytest.mark.parametrize(
    ("event", "want"),
    [
        ({"type": "init", **TIME, "model": "gemini-x"}, "model: gemini-x"),
        (USED, 'run_shell_command: {"command": "ls"}'),
        (ANSWERED, "-> a b"),
        (
            {"type": "tool_result", "status": "error", "error": {"message": "no\nsuch"}},
            "-> no such failed",
        ),
        ({"type": "tool_result", "status": "error", "error": "odd"}, "-> failed"),
        (LOOP, "warning: Loop detected, stopping execution"),
        (GOOD, "result: success"),
        (failed("m"), "result: error [API Error: m]"),
        ({"type": "message", "role": "user", "content": "a brief"}, None),
        ({"type": "message", "role": "assistant", "content": ["odd"]}, None),
    ],
)
def test_event_is_one_line_for_people_or_nothing(event: object, want: str | None):
    line = event if isinstance(event, str) else json.dumps(event)

    assert read().event(line) == want


def test_pieces_of_a_text_are_one_line_for_people():
    reader = read()
    pieces = [SAID | {"content": text} for text in ("I re", "ad\nthe ", "file.")]

    lines = [reader.event(json.dumps(event)) for event in (*pieces, USED)]

    assert lines == [None, None, None, 'I read the file.\nrun_shell_command: {"command": "ls"}']


def test_text_without_an_end_is_not_kept_whole():
    reader = read()
    piece = json.dumps(SAID | {"content": "word " * 100})

    lines = [reader.event(piece) for _ in range(40)]

    assert [len(line) for line in lines if line] == [1999] * 10

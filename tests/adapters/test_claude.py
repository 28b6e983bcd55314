"""Claude Code's call and the meaning of its events, as lines that it has really written."""

import json
from dataclasses import replace
from functools import partial

import pytest

from afresh.adapters.adapter import PLACEHOLDER_KEY, Context, Reader
from afresh.adapters.claude import ClaudeAdapter
from afresh.adapters.endings import failed
from afresh.contract.order import Agent
from afresh.contract.words import AdapterName, Outcome
from tests.adapters.streams import read as read_stream

read = partial(read_stream, AdapterName.CLAUDE)
AGENT = Agent(adapter=AdapterName.CLAUDE, max_turns=7)
GOOD = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 3, "result": "Done"}
BAD = GOOD | {"is_error": True}
UNREACHABLE = "API Error: Unable to connect to API (ECONNRESET)"


def test_call_is_not_interactive_reads_the_brief_and_leaves_no_session():
    launch = ClaudeAdapter().launch(AGENT, "the brief", "http://127.0.0.1:8787")

    assert " ".join(launch.argv) == (
        "claude -p --output-format stream-json --verbose --max-turns 7"
        " --permission-mode bypassPermissions --no-session-persistence --strict-mcp-config"
    )
    assert launch.environment == {
        "ANTHROPIC_API_KEY": PLACEHOLDER_KEY,
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:8787",
        "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "DISABLE_AUTOUPDATER": "1",
    }


def test_call_whose_conversation_goes_on_keeps_it_and_later_ones_name_it():
    session = "bbd16f3f-c099-40e5-9979-5a023f9b129c"

    first = ClaudeAdapter().launch(AGENT, "", None, Context(is_kept=True))
    later = ClaudeAdapter().launch(AGENT, "", None, Context(is_kept=True, session=session))

    assert not {"--no-session-persistence", "--resume"} & set(first.argv)
    assert later.argv == (*first.argv, "--resume", session)


def test_model_of_the_class_is_used_for_side_requests_too():
    launch = ClaudeAdapter().launch(replace(AGENT, model="claude-x"), "", None)

    assert launch.argv[-2:] == ("--model", "claude-x")
    assert launch.environment["ANTHROPIC_SMALL_FAST_MODEL"] == "claude-x"


@pytest.mark.parametrize(
    ("endpoint", "want"),
    [
        pytest.param(None, {}, id="the usual endpoint"),
        pytest.param(
            "https://model.example.com",
            {"ANTHROPIC_BASE_URL": "https://model.example.com"},
            id="the class's endpoint",
        ),
    ],
)
def test_agent_with_its_own_credentials_is_given_no_key_and_the_classs_endpoint(
    endpoint: str | None, want: dict[str, str]
):
    launch = ClaudeAdapter().launch(replace(AGENT, endpoint=endpoint), "", None)

    given = launch.environment.items()
    assert {name: value for name, value in given if name.startswith("ANTHROPIC_")} == want


@pytest.mark.parametrize(
    ("reader", "exit_code", "want"),
    [
        pytest.param(read(BAD, GOOD), 0, None, id="the last result decides"),
        pytest.param(
            read(errors=("Error: No messages returned from query",)),
            1,
            Outcome.AGENT_ERROR,
            id="an empty reply behind the gateway, which knows better",
        ),
        pytest.param(
            read({"type": "result", "subtype": "error_max_turns", "is_error": True}),
            1,
            Outcome.TURN_LIMIT,
            id="its own turn limit",
        ),
        pytest.param(
            read({"type": "system", "subtype": "compact_boundary"}, GOOD),
            0,
            Outcome.CONTEXT_EXHAUSTED,
            id="a good result after a compaction",
        ),
        pytest.param(
            read('{"type":"result","subtype":"success","is_error":false,"result":"cut'),
            0,
            None,
            id="a good result whose line is cut",
        ),
        pytest.param(
            read('{"type":"result","subtype":"success","is_error":true,"result":"cut'),
            1,
            Outcome.AGENT_ERROR,
            id="a bad result whose line is cut",
        ),
    ],
)
def test_verdict_needs_a_good_result_and_a_good_exit_code(
    reader: Reader, exit_code: int, want: Outcome | None
):
    assert reader.verdict(exit_code).outcome is want


def test_bad_result_without_a_message_is_judged_by_the_last_line_of_standard_error():
    reader = read(
        {"type": "result", "subtype": "error_during_execution", "is_error": True, "errors": []},
        errors=(UNREACHABLE,),
        behind_gateway=False,
    )

    assert reader.verdict(1) == failed(Outcome.TRANSIENT, UNREACHABLE)


@pytest.mark.parametrize(
    ("event", "want"),
    [
        ({"type": "system", "subtype": "init", "model": "claude-x"}, "model: claude-x"),
        (
            {"type": "assistant", "message": {"content": [{"type": "text", "text": "I\nread."}]}},
            "I read.",
        ),
        (
            {
                "type": "assistant",
                "message": {
                    "content": [{"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]
                },
            },
            'Bash: {"command": "ls"}',
        ),
        (
            {
                "type": "user",
                "message": {
                    "content": [
                        {
                            "type": "tool_result",
                            "is_error": True,
                            "content": [{"type": "text", "text": "no\nsuch"}],
                        }
                    ]
                },
            },
            "-> no such failed",
        ),
        ({"type": "user", "message": {"content": "a brief"}}, None),
        ({"type": "assistant", "message": {"content": [None, 3, {"type": "thinking"}]}}, None),
        ({"type": "assistant", "message": None}, None),
        ({"type": "rate_limit_event"}, None),
        (GOOD, "result: success, error: False"),
    ],
)
def test_event_is_one_line_for_people_or_nothing(event: object, want: str | None):
    line = event if isinstance(event, str) else json.dumps(event)

    assert read().event(line) == want

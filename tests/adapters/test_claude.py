"""Claude Code's call and the meaning of its events, as lines that it has really written."""

import json
from dataclasses import replace

import pytest

from afresh.adapters.adapter import PLACEHOLDER_KEY, Context
from afresh.adapters.claude import ClaudeAdapter, ClaudeReader
from afresh.adapters.endings import FAILED
from afresh.contract.abilities import ABILITIES
from afresh.contract.order import Agent
from afresh.contract.words import AdapterName, Outcome

AGENT = Agent(adapter=AdapterName.CLAUDE, max_turns=7)
GOOD = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 3, "result": "Done"}
BAD = GOOD | {"is_error": True}


def read(*events: object, errors: tuple[str, ...] = (), behind_gateway: bool = True):
    reader = ClaudeReader(behind_gateway=behind_gateway)
    for event in events:
        reader.event(event if isinstance(event, str) else json.dumps(event, separators=(",", ":")))
    for line in errors:
        reader.error(line)
    return reader


def test_call_is_not_interactive_reads_the_brief_and_leaves_no_session():
    launch = ClaudeAdapter().launch(AGENT, "the brief", "http://127.0.0.1:8787")

    assert " ".join(launch.argv) == (
        "claude -p --output-format stream-json --verbose --max-turns 7"
        " --permission-mode bypassPermissions --no-session-persistence --strict-mcp-config"
    )
    assert launch.stdin == "the brief"
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

    assert ABILITIES[AdapterName.CLAUDE].resumes
    assert not {"--no-session-persistence", "--resume"} & set(first.argv)
    assert later.argv == (*first.argv, "--resume", session)


@pytest.mark.parametrize(
    ("told", "want"),
    [
        ("bbd16f3f-c099-40e5-9979-5a023f9b129c", "bbd16f3f-c099-40e5-9979-5a023f9b129c"),
        ("--dangerously-skip-permissions", None),
        ("bbd16f3f-c099-40e5-9979-5a023f9b129c\n", None),
        (["bbd16f3f"], None),
        (None, None),
    ],
)
def test_session_is_what_the_events_say_if_it_can_be_one(told: object, want: str | None):
    assert read(GOOD | {"session_id": told}).session == want


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
        pytest.param(read(GOOD), 0, None, id="a good result and exit code 0"),
        pytest.param(read(BAD, GOOD), 0, None, id="the last result decides"),
        pytest.param(read(GOOD), 1, Outcome.AGENT_ERROR, id="a good result but exit code 1"),
        pytest.param(read(BAD), 1, Outcome.AGENT_ERROR, id="success with an error in it"),
        pytest.param(read(BAD), 0, Outcome.AGENT_ERROR, id="an error and exit code 0"),
        pytest.param(read(), 0, Outcome.NO_RESULT, id="no output at all"),
        pytest.param(read("not JSON", "{broken"), 0, Outcome.NO_RESULT, id="garbage only"),
        pytest.param(read(), 137, Outcome.AGENT_ERROR, id="killed"),
        pytest.param(
            read(errors=("Error: No messages returned from query",)),
            1,
            Outcome.AGENT_ERROR,
            id="an empty reply behind the gateway, which knows better",
        ),
        pytest.param(read(), 127, Outcome.CONFIG, id="not in the image"),
        pytest.param(
            read({"type": "system", "subtype": "init"}),
            127,
            Outcome.AGENT_ERROR,
            id="exit code 127 after events",
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
            read(BAD | {"result": "Prompt is too long"}),
            1,
            Outcome.CONTEXT_EXHAUSTED,
            id="a prompt that is too long",
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
    reader: ClaudeReader, exit_code: int, want: Outcome | None
):
    assert reader.verdict(exit_code).outcome is want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Not logged in · Please run /login", Outcome.AUTH),
        ("Invalid API key · Fix external API key", Outcome.AUTH),
        ("Credit balance is too low", Outcome.AUTH),
        ("API Error: 400 You have reached your specified API usage limits.", Outcome.AUTH),
        ("API Error: 400 This organization has been disabled.", Outcome.AUTH),
        ("API Error: 429 Extra usage is required for long context requests.", Outcome.AUTH),
        ("API Error: Extra usage is required for 1M context", Outcome.AUTH),
        ("API Error: Request rejected (429) · slow down", Outcome.TRANSIENT),
        ("API Error: Repeated 529 Overloaded errors", Outcome.TRANSIENT),
        ("API Error: 500 Internal server error", Outcome.TRANSIENT),
        ("API Error: Unable to connect to API (ECONNRESET)", Outcome.TRANSIENT),
        ("API Error: API returned an empty or malformed response (HTTP 200)", Outcome.TRANSIENT),
        ("You've hit your weekly limit · resets 9am", Outcome.TRANSIENT),
        ("The tests fail", Outcome.AGENT_ERROR),
        ("Read 4290 lines", Outcome.AGENT_ERROR),
    ],
)
def test_words_of_the_provider_decide_only_where_there_is_no_gateway(text: str, want: Outcome):
    result = BAD | {"result": text}

    assert read(result, behind_gateway=False).verdict(1).outcome is want
    assert read(result, behind_gateway=True).verdict(1).outcome is Outcome.AGENT_ERROR


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
        ({"type": ["odd"]}, None),
        (GOOD, "result: success, error: False"),
        ("plain words", "plain words"),
        ("", None),
        ("[1, 2]", "[1, 2]"),
        ("{broken", "{broken"),
    ],
)
def test_event_is_one_line_for_people_or_nothing(event: object, want: str | None):
    line = event if isinstance(event, str) else json.dumps(event)

    assert ClaudeReader(behind_gateway=True).event(line) == want


def test_text_of_a_failure_is_one_printable_line():
    reader = read(BAD | {"result": "first\nsecond \ud800 \x1b[1m third"})

    assert reader.verdict(1).message == f"{FAILED} Details: first second third"


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('{"a":' * 100_000, id="too deep to be read"),
        *(
            pytest.param(
                f'{{"type":"{kind}","{name}":{"[" * depth}{"]" * depth}}}', id=f"{kind} of {depth}"
            )
            for kind, name in (("result", "subtype"), ("result", "errors"))
            for depth in range(900, 1000, 7)
        ),
    ],
)
def test_event_of_any_depth_is_no_success_and_no_error_of_the_reader(line: str):
    reader = ClaudeReader(behind_gateway=True)

    assert reader.event(line)
    assert reader.verdict(0).outcome in (Outcome.NO_RESULT, Outcome.AGENT_ERROR)

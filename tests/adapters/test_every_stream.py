"""What holds for each program that prints JSON events."""

import json

import pytest

from afresh.adapters.endings import FAILED
from afresh.adapters.event_stream import EventReader
from afresh.adapters.registry import adapter_of
from afresh.contract.order import Agent
from afresh.contract.words import AdapterName, Outcome
from tests.adapters.streams import STREAMS, UUID, Event, line_of, opencode_error, read

each_stream = pytest.mark.parametrize("name", STREAMS)
CUT = '{"type":"unknown","text":"cut'


def test_every_program_that_prints_events_has_samples() -> None:
    with_stream = {
        name
        for name in AdapterName
        if isinstance(adapter_of(name).reader(behind_gateway=True), EventReader)
    }

    assert set(STREAMS) == with_stream


@each_stream
def test_session_is_the_last_id_in_the_events(name: AdapterName) -> None:
    stream = STREAMS[name]

    reader = read(name, stream.named(stream.session), stream.named(None))

    assert reader.session == stream.session


@each_stream
@pytest.mark.parametrize("form", ["{}\n", "{} --share", "latest", "--yolo", [UUID], 3, None])
def test_value_that_is_not_a_session_id_is_no_session(name: AdapterName, form: object) -> None:
    stream = STREAMS[name]
    value = form.format(stream.session) if isinstance(form, str) else form

    assert read(name, stream.named(value)).session is None


@each_stream
@pytest.mark.parametrize(
    ("events", "exit_code", "want"),
    [
        pytest.param(("good",), 0, None, id="a good end and exit code 0"),
        pytest.param(("good",), 1, Outcome.AGENT_ERROR, id="a good end but exit code 1"),
        pytest.param(("good",), 143, Outcome.AGENT_ERROR, id="a good end, then SIGTERM"),
        pytest.param(("failed",), 0, Outcome.AGENT_ERROR, id="a failure but exit code 0"),
        pytest.param(("failed",), 1, Outcome.AGENT_ERROR, id="a failure"),
        pytest.param(("good", "failed"), 0, Outcome.AGENT_ERROR, id="a failure after a good end"),
        pytest.param((), 0, Outcome.NO_RESULT, id="no output at all"),
        pytest.param(("begun",), 0, Outcome.NO_RESULT, id="no event ends the run"),
        pytest.param(("not JSON", "{broken", "[1]"), 0, Outcome.NO_RESULT, id="garbage only"),
        pytest.param((), 137, Outcome.AGENT_ERROR, id="killed at once"),
        pytest.param(("begun",), 137, Outcome.AGENT_ERROR, id="killed"),
        pytest.param((), 127, Outcome.CONFIG, id="not in the image"),
        pytest.param((), 126, Outcome.CONFIG, id="a program for another machine"),
        pytest.param(("not JSON",), 127, Outcome.CONFIG, id="not in the image, says a shell"),
        pytest.param(("begun",), 127, Outcome.AGENT_ERROR, id="exit code 127 after events"),
    ],
)
def test_verdict_needs_a_good_end_and_a_good_exit_code(
    name: AdapterName, events: tuple[str, ...], exit_code: int, want: Outcome | None
) -> None:
    stream = STREAMS[name]
    known = {"good": stream.good, "failed": (stream.failed("m"),), "begun": (stream.begun,)}
    lines = [item for event in events for item in known.get(event, (event,))]

    assert read(name, *lines).verdict(exit_code).outcome is want


@each_stream
def test_message_about_a_program_that_the_image_lacks_names_its_command(
    name: AdapterName,
) -> None:
    assert f"the program {name.lower()};" in read(name).verdict(127).message


@each_stream
def test_failure_has_the_last_line_of_standard_error_if_no_event_has_a_message(
    name: AdapterName,
) -> None:
    reader = read(name, errors=("one", "two", " "))

    assert reader.verdict(1).message == f"{FAILED} Details: two"


@each_stream
def test_text_of_a_failure_is_one_printable_line(name: AdapterName) -> None:
    reader = read(name, STREAMS[name].failed("first\nsecond \ud800 \x1b[1m third"))

    assert "first second third" in reader.verdict(1).message
    assert reader.verdict(1).message.isprintable()


@each_stream
@pytest.mark.parametrize(
    ("event", "want"),
    [
        ({"type": ["odd"]}, None),
        ({"type": None}, None),
        ({}, None),
        ("plain words", "plain words"),
        ("", None),
        ("[1, 2]", "[1, 2]"),
        ("{broken", "{broken"),
        (CUT, CUT),
    ],
)
def test_line_that_is_not_an_event_is_logged_and_an_unknown_event_is_not(
    name: AdapterName, event: object, want: str | None
) -> None:
    assert adapter_of(name).reader(behind_gateway=True).event(line_of(event)) == want


DEPTHS = [100_000, *range(900, 1000, 7)]


@pytest.mark.parametrize(
    ("name", "form"), [(name, form) for name, stream in STREAMS.items() for form in stream.deep]
)
def test_event_of_any_depth_is_no_success_and_no_error_of_the_reader(
    name: AdapterName, form: str
) -> None:
    for depth in DEPTHS:
        reader = read(name, form % ("[" * depth + "]" * depth))

        assert reader.verdict(0).outcome in (Outcome.NO_RESULT, Outcome.AGENT_ERROR), depth


@each_stream
def test_event_that_is_nested_too_deeply_to_be_read_is_logged_as_that(name: AdapterName) -> None:
    reader = adapter_of(name).reader(behind_gateway=True)

    assert reader.event('{"a":' * 100_000) == "an event that is nested too deeply"


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:8787", None], ids=["a gateway", "none"])
@pytest.mark.parametrize("name", [AdapterName.CLAUDE, AdapterName.GEMINI, AdapterName.QWEN])
def test_program_that_enforces_the_turn_limit_gets_it_with_and_without_a_gateway(
    name: AdapterName, base_url: str | None
) -> None:
    launch = adapter_of(name).launch(Agent(adapter=name, max_turns=7919), "", base_url)

    assert "7919" in json.dumps([launch.argv, dict(launch.home_files)])


ERROR_MESSAGES: dict[AdapterName, list[tuple[str | Event, Outcome]]] = {
    AdapterName.CLAUDE: [
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
        ("Prompt is too long", Outcome.CONTEXT_EXHAUSTED),
        ("The tests fail", Outcome.AGENT_ERROR),
        ("Read 4290 lines", Outcome.AGENT_ERROR),
    ],
    AdapterName.CODEX: [
        ("unexpected status 401 Unauthorized: no, url: https://x/v1/responses", Outcome.AUTH),
        ("unexpected status 403 Forbidden: no, url: https://x/v1/responses", Outcome.AUTH),
        ("Quota exceeded. Check your plan and billing details.", Outcome.AUTH),
        ("Missing environment variable: `AZURE_KEY`.", Outcome.AUTH),
        ("exceeded retry limit, last status: 429 Too Many Requests", Outcome.TRANSIENT),
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
        (
            "Codex ran out of room in the model's context window. Start a new thread or clear "
            "earlier history before retrying.",
            Outcome.CONTEXT_EXHAUSTED,
        ),
        (
            "stream disconnected before completion: Request too large for gpt on tokens per min",
            Outcome.CONTEXT_EXHAUSTED,
        ),
        ("Incomplete response returned, reason: max_output_tokens", Outcome.AGENT_ERROR),
        ("unexpected status 404 Not Found: no, url: https://x", Outcome.AGENT_ERROR),
    ],
    AdapterName.GEMINI: [
        ("API key not valid. Please pass a valid API key.", Outcome.AUTH),
        ('{"error":{"code":401,"status":"UNAUTHENTICATED"}}', Outcome.AUTH),
        ("Your prepayment credits are depleted.", Outcome.AUTH),
        ("You exceeded your current quota\nPlease wait and try again later.", Outcome.TRANSIENT),
        ('{"error":{"code":500,"status":"INTERNAL"}}', Outcome.TRANSIENT),
        ("The model is overloaded.", Outcome.TRANSIENT),
        ("exception TypeError: fetch failed sending request", Outcome.TRANSIENT),
        ("Model stream ended without a finish reason.", Outcome.TRANSIENT),
        (
            "The input token count exceeds the maximum number of tokens allowed 9.",
            Outcome.CONTEXT_EXHAUSTED,
        ),
        ("The tests fail", Outcome.AGENT_ERROR),
        ("Read 4290 lines", Outcome.AGENT_ERROR),
    ],
    AdapterName.OPENCODE: [
        (opencode_error("invalid x-api-key", 401), Outcome.AUTH),
        (opencode_error("Your credit balance is too low", 400), Outcome.AUTH),
        (opencode_error("This organization has been disabled.", 400), Outcome.AUTH),
        (opencode_error("The rate limit is exceeded", 429), Outcome.TRANSIENT),
        (opencode_error("Overloaded", 529), Outcome.TRANSIENT),
        (opencode_error("Internal server error", 500), Outcome.TRANSIENT),
        (
            "Cannot connect to API: The socket connection was closed unexpectedly.",
            Outcome.TRANSIENT,
        ),
        (
            {"type": "error", "error": {"name": "ContextOverflowError", "data": {}}},
            Outcome.CONTEXT_EXHAUSTED,
        ),
        (opencode_error("max_tokens is too large", 400), Outcome.AGENT_ERROR),
    ],
    AdapterName.QWEN: [
        ("401 Incorrect API key provided.", Outcome.AUTH),
        ("429 You exceeded your current quota (insufficient_quota)", Outcome.AUTH),
        ("429 Rate limit reached", Outcome.TRANSIENT),
        ("503 The engine is currently overloaded", Outcome.TRANSIENT),
        ("Connection error. (cause: fetch failed)", Outcome.TRANSIENT),
        ("This model's maximum context length is 9 tokens.", Outcome.CONTEXT_EXHAUSTED),
        ("The tests fail", Outcome.AGENT_ERROR),
        ("Read 4290 lines", Outcome.AGENT_ERROR),
    ],
}


@pytest.mark.parametrize(
    ("name", "failure", "want"),
    [(name, text, want) for name, messages in ERROR_MESSAGES.items() for text, want in messages],
)
def test_message_of_the_provider_decides_only_without_a_gateway(
    name: AdapterName, failure: str | Event, want: Outcome
) -> None:
    event = STREAMS[name].failed(failure) if isinstance(failure, str) else failure
    is_too_long = want is Outcome.CONTEXT_EXHAUSTED

    assert read(name, event, behind_gateway=False).verdict(1).outcome is want
    assert read(name, event).verdict(1).outcome is (want if is_too_long else Outcome.AGENT_ERROR)


def test_every_program_that_prints_events_has_error_messages() -> None:
    assert set(ERROR_MESSAGES) == set(STREAMS)

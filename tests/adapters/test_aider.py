"""Aider's call and the meaning of its lines, as it has really written them."""

import json
from dataclasses import replace

import pytest

from afresh.adapters.adapter import PLACEHOLDER_KEY
from afresh.adapters.aider import NO_COMMANDS, AiderAdapter, AiderReader
from afresh.adapters.default_models import DEFAULT_MODELS
from afresh.adapters.endings import FAILED
from afresh.contract.order import Agent, Price
from afresh.contract.words import AdapterName, CredentialsMode, ModelApiName, Outcome

GATEWAY = "http://127.0.0.1:8787"
AGENT = Agent(
    adapter=AdapterName.AIDER,
    credentials_mode=CredentialsMode.GATEWAY,
    model_api=ModelApiName.ANTHROPIC,
    model="claude-x",
)
START = "Aider v0.86.2"
TOKENS = "Tokens: 2.7k sent, 653 cache write, 1.4k cache hit, 8 received."
REFUSED = (
    'litellm.BadRequestError: AnthropicException - {"type": "error", "error": {"type": '
    '"invalid_request_error", "message": "The turn limit of this task is reached."}}'
)
OVERLOADED = 'litellm.InternalServerError: AnthropicException - {"type": "error"}.'
EMPTY = "Empty response received from LLM. Check your provider account?"
AUTH = "litellm.AuthenticationError: AnthropicException - invalid x-api-key"


def read(*lines: str, behind_gateway: bool = True) -> AiderReader:
    reader = AiderReader(behind_gateway=behind_gateway)
    for line in lines:
        reader.event(line)
    return reader


def options(agent: Agent, base_url: str | None = GATEWAY) -> list[str]:
    return list(AiderAdapter().launch(agent, "", base_url).argv)


def after(arguments: list[str], option: str) -> str:
    return arguments[arguments.index(option) + 1]


def test_brief_is_read_from_standard_input():
    launch = AiderAdapter().launch(AGENT, "the brief", GATEWAY)

    assert after(list(launch.argv), "--message-file") == "/dev/stdin"


def test_program_asks_nobody_commits_nothing_and_fetches_nothing():
    launch = AiderAdapter().launch(AGENT, "", GATEWAY)

    assert {"--yes-always", "--no-auto-commits", "--no-dirty-commits"} <= set(launch.argv)
    assert {"--no-analytics", "--no-check-update", "--no-detect-urls"} <= set(launch.argv)
    assert {"--no-auto-lint", "--no-auto-test"} <= set(launch.argv)
    assert launch.environment["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"


def test_files_of_its_own_are_no_work_of_the_agents():
    assert AiderAdapter().program_files == (".aider*",)


def test_settings_that_it_cannot_follow_are_warnings():
    assert AiderAdapter().launch(AGENT, "", GATEWAY).warnings == (NO_COMMANDS,)


@pytest.mark.parametrize(
    ("agent", "want"),
    [
        pytest.param(AGENT, "anthropic/claude-x", id="Anthropic"),
        pytest.param(
            replace(AGENT, model=None),
            f"anthropic/{DEFAULT_MODELS[ModelApiName.ANTHROPIC]}",
            id="no model",
        ),
        pytest.param(
            replace(AGENT, model_api=None, model="org/gpt-x"),
            "openai/org/gpt-x",
            id="what is usual",
        ),
    ],
)
def test_all_requests_are_for_one_model(agent: Agent, want: str):
    arguments = options(agent)

    models = {after(arguments, f"--{kind}model") for kind in ("", "weak-", "editor-")}
    assert models == {want}


@pytest.mark.parametrize(
    ("api", "want"),
    [
        (ModelApiName.ANTHROPIC, ("ANTHROPIC", GATEWAY)),
        (ModelApiName.OPENAI, ("OPENAI", f"{GATEWAY}/v1")),
    ],
)
def test_gateway_is_an_argument_so_that_no_file_of_the_repository_changes_it(
    api: ModelApiName, want: tuple[str, str]
):
    name, base = want

    assert options(replace(AGENT, model_api=api))[-2:] == [
        f"--set-env={name}_API_BASE={base}",
        f"--set-env={name}_API_KEY={PLACEHOLDER_KEY}",
    ]


@pytest.mark.parametrize(
    ("model", "want"), [(None, {}), ("gemini/x", {"gemini/x": {"mode": "chat"}})]
)
def test_agent_with_its_own_credentials_finds_its_provider_itself(
    model: str | None, want: dict[str, object]
):
    own = replace(AGENT, credentials_mode=CredentialsMode.ENVIRONMENT, model=model)
    launch = AiderAdapter().launch(own, "", None)

    assert PLACEHOLDER_KEY not in str(launch)
    assert ("--model" in launch.argv) == (model is not None)
    assert json.loads(launch.home_files[".aider.model.metadata.json"]) == want


def test_size_of_a_model_is_the_price_lists():
    prices = (Price(model="claude-*", context_window_tokens=200_000),)
    launch = AiderAdapter().launch(replace(AGENT, pricing=prices), "", GATEWAY)

    assert json.loads(launch.home_files[".aider.model.metadata.json"]) == {
        "anthropic/claude-x": {"mode": "chat", "max_input_tokens": 200_000}
    }


@pytest.mark.parametrize(
    ("reader", "exit_code", "want"),
    [
        pytest.param(read(START, "Done.", TOKENS), 0, None, id="an answer"),
        pytest.param(read(START, OVERLOADED, "Done.", TOKENS), 0, None, id="after a fault"),
        pytest.param(
            read(START, "Tokens: 11 sent, 7 received. Cost: $0.01 message, $0.01 session."),
            0,
            None,
            id="an answer with its cost",
        ),
        pytest.param(read(START, EMPTY, TOKENS, TOKENS), 0, None, id="another answer"),
        pytest.param(read(START, TOKENS, REFUSED), 0, Outcome.AGENT_ERROR, id="then refused"),
        pytest.param(read(START, REFUSED), 0, Outcome.AGENT_ERROR, id="refused and exit code 0"),
        pytest.param(read(START), 0, Outcome.NO_RESULT, id="no answer and exit code 0"),
        pytest.param(read(), 0, Outcome.NO_RESULT, id="no output at all"),
        pytest.param(read(START, TOKENS), 143, Outcome.AGENT_ERROR, id="told to stop"),
        pytest.param(read(START, TOKENS), 1, Outcome.AGENT_ERROR, id="an answer but exit code 1"),
        pytest.param(read(START, EMPTY, TOKENS), 0, Outcome.NO_RESULT, id="an answer of nothing"),
        pytest.param(
            read(START, "Model anthropic/claude-x has hit a token limit!", TOKENS),
            0,
            Outcome.CONTEXT_EXHAUSTED,
            id="an answer that hits a token limit",
        ),
        pytest.param(
            read("sh: 1: exec: aider: not found"), 127, Outcome.CONFIG, id="not in the image"
        ),
        pytest.param(read(START), 127, Outcome.AGENT_ERROR, id="exit code 127 after its start"),
    ],
)
def test_end_is_good_only_if_an_answer_has_the_last_word(
    reader: AiderReader, exit_code: int, want: Outcome | None
):
    assert reader.verdict(exit_code).outcome is want


@pytest.mark.parametrize(
    ("line", "want"),
    [
        pytest.param(AUTH, Outcome.AUTH, id="401"),
        pytest.param(
            "litellm.BadRequestError: AnthropicException - Your credit balance is too low",
            Outcome.AUTH,
            id="no credit",
        ),
        pytest.param(
            "litellm.BadRequestError: AnthropicException - You have reached your API usage limits",
            Outcome.AUTH,
            id="beyond the account's own limit",
        ),
        pytest.param("litellm.RateLimitError: no", Outcome.TRANSIENT, id="429"),
        pytest.param(OVERLOADED, Outcome.TRANSIENT, id="500, 529 or a reset"),
        pytest.param("litellm.ServiceUnavailableError: no", Outcome.TRANSIENT, id="503"),
        pytest.param(REFUSED, Outcome.AGENT_ERROR, id="400"),
    ],
)
def test_providers_words_decide_only_without_a_gateway(line: str, want: Outcome):
    assert read(START, line, behind_gateway=False).verdict(0).outcome is want
    assert read(START, line).verdict(0).outcome is Outcome.AGENT_ERROR


def test_model_that_quotes_an_error_before_its_answer_is_counted_has_not_failed():
    reader = read(START, AUTH, "is what the user sees.", TOKENS, behind_gateway=False)

    assert reader.verdict(0).outcome is None


def test_line_is_for_people_unless_it_is_empty():
    reader = AiderReader(behind_gateway=True)

    assert reader.event("Applied edit to a.py") == "Applied edit to a.py"
    assert reader.error("  ") is None


def test_message_of_a_failure_is_the_last_line_about_it():
    assert read(START, AUTH).verdict(0).message == f"{FAILED} Details: {AUTH}"
    assert read("Traceback", "OSError: no space").verdict(1).message == (
        f"{FAILED} Details: OSError: no space"
    )

"""OpenCode's call and the meaning of its events, as lines that it has really written."""

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from afresh.adapters.adapter import PLACEHOLDER_KEY, Context, Reader
from afresh.adapters.default_models import DEFAULT_MODELS
from afresh.adapters.endings import FAILED
from afresh.adapters.opencode import OpenCodeAdapter
from afresh.contract.order import Agent, Price
from afresh.contract.words import AdapterName, CredentialsMode, ModelApiName, Outcome
from tests.adapters.streams import read as read_stream

GATEWAY = "http://127.0.0.1:8787"
SESSION = "ses_dfdf93154ffezDx10ZF8qEhSEh"
read = partial(read_stream, AdapterName.OPENCODE)
AGENT = Agent(
    adapter=AdapterName.OPENCODE,
    credentials_mode=CredentialsMode.GATEWAY,
    model_api=ModelApiName.ANTHROPIC,
)
OPENAI = replace(AGENT, model_api=None)


def event(kind: str, **more: object) -> dict[str, Any]:
    return {"type": kind, "timestamp": 1795330333921, "sessionID": SESSION, **more}


def finished(reason: str) -> dict[str, Any]:
    return event("step_finish", part={"type": "step-finish", "reason": reason, "cost": 0})


def failed(message: str, **data: object) -> dict[str, Any]:
    details = {"message": message, "isRetryable": False, **data}
    return event("error", error={"name": "APIError", "data": details})


TOOL = event(
    "tool_use",
    part={
        "tool": "bash",
        "state": {"status": "completed", "input": {"command": "ls"}, "output": "a\nb\n"},
    },
)
GOOD = finished("stop")
OVERLOADED = failed("Overloaded", statusCode=529, isRetryable=True)


def settings_of(agent: Agent, base_url: str | None = GATEWAY) -> dict[str, Any]:
    launch = OpenCodeAdapter().launch(agent, "", base_url)
    return json.loads(launch.home_files[".config/opencode/opencode.json"])


def test_call_is_not_interactive_reads_the_brief_and_asks_for_no_title():
    launch = OpenCodeAdapter().launch(AGENT, "the brief", GATEWAY)

    assert " ".join(launch.argv) == "opencode run --format json --auto --title task"


def test_conversation_that_does_not_go_on_is_kept_in_memory_alone():
    launch = OpenCodeAdapter().launch(AGENT, "", GATEWAY)

    assert launch.environment["OPENCODE_DB"] == ":memory:"


def test_conversation_that_goes_on_is_kept_and_later_calls_name_it():
    first = OpenCodeAdapter().launch(AGENT, "", GATEWAY, Context(is_kept=True))
    later = OpenCodeAdapter().launch(AGENT, "", GATEWAY, Context(is_kept=True, session=SESSION))

    assert "OPENCODE_DB" not in first.environment
    assert later.argv == (*first.argv, "--session", SESSION)


def test_program_asks_nobody_and_fetches_nothing():
    settings = settings_of(AGENT)
    launch = OpenCodeAdapter().launch(AGENT, "", GATEWAY)

    assert "ask" not in settings["permission"].values()
    assert (settings["autoupdate"], settings["share"], settings["lsp"]) == (
        False,
        "disabled",
        False,
    )
    assert launch.environment["OPENCODE_DISABLE_MODELS_FETCH"] == "1"
    packages = json.loads(launch.home_files[".config/opencode/package-lock.json"])
    assert list(packages["packages"][""]["dependencies"]) == ["@opencode-ai/plugin"]
    assert any(name.startswith(".config/opencode/node_modules/") for name in launch.home_files)


@pytest.mark.parametrize(
    ("agent", "want"),
    [
        pytest.param(
            replace(AGENT, model="claude-x"), ("anthropic/claude-x", None), id="Anthropic"
        ),
        pytest.param(
            AGENT, (f"anthropic/{DEFAULT_MODELS[ModelApiName.ANTHROPIC]}", None), id="no model"
        ),
        pytest.param(replace(OPENAI, model="gpt-x"), ("openai/gpt-x", None), id="OpenAI itself"),
        pytest.param(
            replace(OPENAI, model="q/w-3", endpoint="http://models.ai.svc:8000"),
            ("gateway/q/w-3", "@ai-sdk/openai-compatible"),
            id="a server that speaks as OpenAI does",
        ),
    ],
)
def test_one_provider_is_set_up_and_all_requests_are_for_one_model(
    agent: Agent, want: tuple[str, str | None]
):
    settings = settings_of(agent)

    (provider,) = settings["provider"].values()
    assert (settings["model"], provider.get("npm")) == want
    assert settings["small_model"] == settings["model"]
    assert settings["enabled_providers"] == list(settings["provider"])
    assert provider["options"] == {"baseURL": f"{GATEWAY}/v1", "apiKey": PLACEHOLDER_KEY}
    assert list(provider["models"]) == [settings["model"].partition("/")[2]]


def test_size_of_a_model_that_the_program_does_not_know_is_the_price_lists():
    prices = (Price(model="qwen*", context_window_tokens=40_000),)
    agent = replace(OPENAI, model="qwen-3", endpoint="http://models.ai.svc:8000", pricing=prices)

    models = settings_of(agent)["provider"]["gateway"]["models"]

    assert models == {"qwen-3": {"limit": {"context": 40_000, "output": 10_000}}}


@pytest.mark.parametrize(
    ("model", "want"), [(None, None), ("anthropic/claude-x", "anthropic/claude-x")]
)
def test_agent_with_its_own_credentials_finds_its_provider_itself(
    model: str | None, want: str | None
):
    own = replace(AGENT, credentials_mode=CredentialsMode.ENVIRONMENT, model=model)

    settings = settings_of(own, None)

    assert settings.get("model") == want
    assert not {"provider", "enabled_providers"} & set(settings)
    assert PLACEHOLDER_KEY not in str(OpenCodeAdapter().launch(own, "", None))


@pytest.mark.parametrize(
    ("reader", "exit_code", "want"),
    [
        pytest.param(read(finished("tool-calls"), TOOL, GOOD), 0, None, id="after a tool"),
        pytest.param(read(GOOD, finished("length")), 0, Outcome.NO_RESULT, id="cut by a limit"),
        pytest.param(read(finished("unknown")), 0, Outcome.NO_RESULT, id="an empty answer"),
        pytest.param(read(OVERLOADED, GOOD), 0, Outcome.AGENT_ERROR, id="an error and exit code 0"),
        pytest.param(
            read('{"type":"error","timestamp":1,"error":{"name":"API', GOOD),
            0,
            Outcome.AGENT_ERROR,
            id="an error that is too long to be whole",
        ),
        pytest.param(read(event("error")), 1, Outcome.AGENT_ERROR, id="an error without words"),
    ],
)
def test_end_is_good_only_if_everything_says_so(
    reader: Reader, exit_code: int, want: Outcome | None
):
    assert reader.verdict(exit_code).outcome is want


def test_message_of_a_failure_is_one_line_of_the_last_error():
    assert read(OVERLOADED).verdict(1).message == (
        f"{FAILED} Details: APIError, status 529, Overloaded"
    )
    assert read(errors=("Error: Session not found\n",)).verdict(1).message == (
        f"{FAILED} Details: Error: Session not found"
    )


@pytest.mark.parametrize(
    ("line", "want"),
    [
        pytest.param(TOOL, 'bash: {"command": "ls"}\n-> a b', id="a tool"),
        pytest.param(
            event("tool_use", part={"tool": "read", "state": {"status": "error", "error": "no"}}),
            "read: null\n-> no failed",
            id="a tool that failed",
        ),
        pytest.param(event("text", part={"text": "All\ndone."}), "All done.", id="text"),
        pytest.param(OVERLOADED, "error: APIError, status 529, Overloaded", id="an error"),
        pytest.param(GOOD, "result: the model has ended its turn", id="the end"),
        pytest.param(event("step_start"), None, id="nothing to tell"),
        pytest.param(event("tool_use", part=["odd"]), "None: null\n-> None", id="an odd event"),
    ],
)
def test_event_is_logged_in_a_line_or_two(line: object, want: str | None):
    text = line if isinstance(line, str) else json.dumps(line)

    assert read().event(text) == want


@pytest.mark.parametrize(
    ("events", "want"),
    [
        pytest.param([], 0, id="nothing yet"),
        pytest.param([event("step_start"), TOOL], 0, id="a first answer under way"),
        pytest.param([TOOL, finished("tool-calls")], 2, id="an answer that it goes on from"),
        pytest.param([finished("tool-calls"), TOOL, finished("tool-calls")], 3, id="two of them"),
        pytest.param([finished("tool-calls"), GOOD], 2, id="a last word"),
    ],
)
def test_requests_are_counted_by_their_steps(events: list[dict[str, Any]], want: int):
    assert read(*events, behind_gateway=False).asked == want

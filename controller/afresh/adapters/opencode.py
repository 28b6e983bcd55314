"""The adapter for OpenCode, which reads the brief from standard input and prints JSON events.

This module owns OpenCode's flags, its configuration and the meaning of its events. It was written
for OpenCode 1.18.33.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from afresh.adapters.adapter import (
    ONE_RUN,
    PLACEHOLDER_KEY,
    Context,
    Launch,
    Verdict,
    endpoint_warnings,
)
from afresh.adapters.default_models import DEFAULT_MODELS
from afresh.adapters.endings import NO_RESULT, TEXT_LENGTH, Wording
from afresh.adapters.event_stream import EventReader
from afresh.contract.abilities import gateway_api
from afresh.contract.order import Agent, price_of
from afresh.contract.text import one_line, shortened
from afresh.contract.words import ModelApiName

FOLDER = ".config/opencode"
# With a title given, the program does not ask the model for one.
TITLE = "task"
ENVIRONMENT = {
    # The AgentClass configures the program. A repository could make it wait for an answer.
    "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
}
IN_MEMORY = {"OPENCODE_DB": ":memory:"}
SETTINGS: Mapping[str, Any] = {
    "autoupdate": False,
    "share": "disabled",
    "snapshot": False,
    "lsp": False,
    "formatter": False,
    # The runner must see that a conversation is too long; the program must not shorten it.
    "compaction": {"auto": False},
    "permission": {"*": "allow", "question": "deny"},
}
# The program would install a package for plugins beside its configuration. With this lock file and
# a folder node_modules, it regards the package as installed.
PACKAGES = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
OPENAI_HOST = "https://api.openai.com"
MAX_OUTPUT_TOKENS = 32_000
ERROR_HEAD = re.compile(r'^\{"type":"error"')
FINISHED = "stop"
CALLED_TOOLS = "tool-calls"
WORDING = Wording(
    too_long=re.compile(
        r"ContextOverflow|context (window|length)|prompt is too long|request too large",
        re.IGNORECASE,
    ),
    auth=re.compile(
        r"ProviderAuthError|status 40[123]\b|credit balance|insufficient_quota|API key"
        r"|API usage limits|organization has been disabled",
        re.IGNORECASE,
    ),
    transient=re.compile(
        r"status (408|409|429|5\d\d)\b|rate.?limit|overloaded|unavailable|cannot connect"
        r"|connection (was )?closed|fetch failed|timed? ?out|ECONNRE|ENOTFOUND|EAI_AGAIN",
        re.IGNORECASE,
    ),
)


class OpenCodeReader(EventReader):
    """Reads the events of one run. No event ends a run, so the last step decides the result."""

    program = "opencode"
    wording = WORDING
    session_form = re.compile(r"ses_[0-9A-Za-z]{8,64}")

    def __init__(self, *, behind_gateway: bool) -> None:
        super().__init__(behind_gateway=behind_gateway)
        self._last_reason = ""
        self._steps = 0
        self._failure_text = ""

    def _take_truncated(self, line: str) -> None:
        if ERROR_HEAD.match(line):
            self._failure_text = line

    def _take(self, event: Mapping[str, Any]) -> str | None:
        self._note_session(event.get("sessionID"))
        match event.get("type"):
            case "step_finish":
                self._last_reason = str(_part(event).get("reason"))
                self._steps += 1
            case "error":
                self._failure_text = _error_text(event) or "an error without a message"
        return _described(event)

    @property
    def asked(self) -> int:
        """The number of requests: one for each step, and one more after a step with tool calls."""
        return self._steps + (self._last_reason == CALLED_TOOLS)

    def _judge(self, exit_code: int) -> Verdict:
        """Success is a last step that the model ended, no error event, and exit code 0."""
        if self._failure_text or exit_code != 0:
            return self._failure(self._failure_text, exit_code)
        return Verdict() if self._last_reason == FINISHED else NO_RESULT


class OpenCodeAdapter:
    """See `adapter.Adapter`."""

    version = "1.18.33"
    program_files: tuple[str, ...] = ()

    def launch(
        self, agent: Agent, brief: str, base_url: str | None, context: Context = ONE_RUN
    ) -> Launch:
        """Return the non-interactive command that reads the brief from standard input."""
        argv = [
            *("opencode", "run", "--format", "json", "--auto", "--title", TITLE),
            *(("--session", context.session) if context.session else ()),
        ]
        settings = {**SETTINGS, **_models(agent, base_url)}
        return Launch(
            argv=tuple(argv),
            environment=ENVIRONMENT | ({} if context.is_kept else IN_MEMORY),
            stdin=brief,
            home_files={
                f"{FOLDER}/opencode.json": json.dumps(settings, indent=2) + "\n",
                f"{FOLDER}/package-lock.json": json.dumps(PACKAGES) + "\n",
                f"{FOLDER}/node_modules/README": "Nothing is installed here.\n",
            },
            warnings=endpoint_warnings(agent, base_url),
        )

    def reader(self, *, behind_gateway: bool) -> OpenCodeReader:
        """Return a reader for one run."""
        return OpenCodeReader(behind_gateway=behind_gateway)


def _models(agent: Agent, base_url: str | None) -> dict[str, Any]:
    """Return the settings for the model and its endpoint."""
    api = gateway_api(agent)
    if base_url is None or api is None:
        return {"model": agent.model, "small_model": agent.model} if agent.model else {}
    name = agent.model or DEFAULT_MODELS[api]
    provider, settings = _provider(agent, api, name)
    settings["options"] = {"baseURL": f"{base_url}/v1", "apiKey": PLACEHOLDER_KEY}
    model = f"{provider}/{name}"
    return {
        "model": model,
        "small_model": model,
        "enabled_providers": [provider],
        "provider": {provider: settings},
    }


def _provider(agent: Agent, api: ModelApiName, model: str) -> tuple[str, dict[str, Any]]:
    """Return the program's name of the provider, and the provider's settings.

    OpenAI's own models need the Responses API; other servers have only Chat Completions in common.
    """
    if api is ModelApiName.ANTHROPIC:
        return "anthropic", {"models": {model: {}}}
    if agent.endpoint is None or agent.endpoint.startswith(OPENAI_HOST):
        return "openai", {"models": {model: {}}}
    return "gateway", {
        "name": "gateway",
        "npm": "@ai-sdk/openai-compatible",
        "models": {model: _limits(agent, model)},
    }


def _limits(agent: Agent, model: str) -> dict[str, Any]:
    """Return the limits of a model that the program does not know, from the class's pricing."""
    price = price_of(agent.pricing, model)
    window = price.context_window_tokens if price else None
    if window is None:
        return {}
    return {"limit": {"context": window, "output": min(MAX_OUTPUT_TOKENS, window // 4)}}


def _part(event: Mapping[str, Any]) -> Mapping[str, Any]:
    part = event.get("part")
    return part if isinstance(part, dict) else {}


def _error_text(event: Mapping[str, Any]) -> str:
    error = event.get("error")
    if not isinstance(error, dict):
        return ""
    data = error.get("data")
    details = data if isinstance(data, dict) else {}
    status = details.get("statusCode")
    parts = (error.get("name"), f"status {status}" if status else "", details.get("message"))
    return ", ".join(part for part in parts if isinstance(part, str) and part)


def _described(event: Mapping[str, Any]) -> str | None:
    part = _part(event)
    match event.get("type"):
        case "text":
            return one_line(str(part.get("text"))) or None
        case "tool_use":
            return _described_tool(part)
        case "error":
            return f"error: {one_line(_error_text(event))}"
        case "step_finish" if part.get("reason") == FINISHED:
            return "result: the model has ended its turn"
    return None


def _described_tool(part: Mapping[str, Any]) -> str:
    value = part.get("state")
    state = value if isinstance(value, dict) else {}
    failed = " failed" if state.get("status") == "error" else ""
    given = shortened(json.dumps(state.get("input")), TEXT_LENGTH)
    answer = shortened(one_line(str(state.get("error" if failed else "output"))), TEXT_LENGTH)
    return f"{part.get('tool')}: {given}\n-> {answer}{failed}"

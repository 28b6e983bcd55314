"""The adapter for Qwen Code, which reads the brief from standard input and prints JSON events.

This module owns Qwen Code's flags, its settings and the meaning of its events. It was written for
Qwen Code 0.24.4.
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
from afresh.adapters.content_blocks import described_blocks
from afresh.adapters.default_models import DEFAULT_MODELS
from afresh.adapters.endings import (
    CANNOT_RUN,
    NO_RESULT,
    USED_UP,
    UUID,
    Wording,
    failed,
    json_event,
    not_in_image,
)
from afresh.contract.abilities import gateway_api
from afresh.contract.order import Agent
from afresh.contract.words import ModelApiName, Outcome

# One retry: the runner repeats an episode where that helps.
RETRIES = 1
ENVIRONMENT = {
    # Otherwise the program starts a second process of itself.
    "QWEN_CODE_NO_RELAUNCH": "true",
    "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
}
SETTINGS_FILE = ".qwen/settings.json"
# The program guesses the size of the context window and replaces a longer conversation by a
# summary. With this size it never does; the provider reports when the context is full.
NO_WINDOW = 1_000_000_000
TURN_LIMIT = 53
REFUSES_TO_RUN = (42, 44, 52)
RESULT_HEAD = re.compile(
    r'^\{"type":"result","subtype":"(?P<subtype>\w+)","uuid":"[^"]{0,40}"'
    r',"session_id":"[^"]{0,40}","is_error":(?P<is_error>true|false)'
)
WORDING = Wording(
    too_long=re.compile(
        r"context[ _](window|length|limit)|maximum context|prompt is too long|too many tokens",
        re.IGNORECASE,
    ),
    auth=re.compile(
        r"incorrect api key|invalid (x-)?api.key|error: 40[13]|insufficient_quota|credit balance"
        r"|no auth type|auth type .* not|missing .*api.?key|exceeded your current quota",
        re.IGNORECASE,
    ),
    transient=re.compile(
        r"rate.?limit|overloaded|connection error|fetch failed|stream ended|empty (response|stream)"
        r"|without a finish reason|ECONNRESET|ETIMEDOUT|ECONNREFUSED|EAI_AGAIN|ENOTFOUND"
        r"|\b(429|500|502|503|504|529)\b",
        re.IGNORECASE,
    ),
)


class QwenReader:
    """Reads the events of one run. The last `result` event decides the result."""

    asked = 0

    def __init__(self, *, behind_gateway: bool) -> None:
        self._behind_gateway = behind_gateway
        self._result: Mapping[str, Any] | None = None
        self._events = 0
        self._last_error = ""
        self.session: str | None = None

    def event(self, line: str) -> str | None:
        """Read an event. A line that is not JSON only goes to the log."""
        try:
            return self._take(line, json_event(line))
        except RecursionError:
            return "an event that is nested too deeply"

    def _take(self, line: str, event: Mapping[str, Any] | None) -> str | None:
        if event is None:
            head = RESULT_HEAD.match(line)  # the line is truncated, but begins with the result
            if head is None:
                return line or None
            event = {
                "type": "result",
                "subtype": head["subtype"],
                "is_error": head["is_error"] == "true",
            }
        self._events += 1
        session = event.get("session_id")
        if isinstance(session, str) and UUID.fullmatch(session):
            self.session = session
        if event.get("type") == "result":
            self._result = event
        return _described(event)

    def error(self, line: str) -> str | None:
        """Read a line of standard error and remember the last one that is not empty."""
        self._last_error = line.strip() or self._last_error
        return line or None

    def verdict(self, exit_code: int) -> Verdict:
        """Return the result of the run.

        Success is a `result` event without an error, and exit code 0; neither alone is enough.
        """
        if exit_code == TURN_LIMIT:
            return USED_UP
        result = self._result
        if result is None:
            return self._without_result(exit_code)
        is_good = result.get("subtype") == "success" and result.get("is_error") is False
        if is_good and exit_code == 0:
            return Verdict()
        text = _error_text(result) or self._last_error or f"exit code {exit_code}"
        return WORDING.verdict(text, behind_gateway=self._behind_gateway)

    def _without_result(self, exit_code: int) -> Verdict:
        if exit_code in CANNOT_RUN and not self._events:
            return not_in_image("qwen")
        if exit_code == 0:
            return NO_RESULT
        text = self._last_error or f"exit code {exit_code}"
        if exit_code in REFUSES_TO_RUN:
            return failed(Outcome.CONFIG, text)
        return WORDING.verdict(text, behind_gateway=self._behind_gateway)


class QwenAdapter:
    """See `adapter.Adapter`."""

    version = "0.24.4"
    program_files: tuple[str, ...] = ()

    def launch(
        self, agent: Agent, brief: str, base_url: str | None, context: Context = ONE_RUN
    ) -> Launch:
        """Return the non-interactive command that reads the brief from standard input."""
        api = gateway_api(agent) if base_url else None
        model = agent.model or (DEFAULT_MODELS[api] if api else None)
        argv = (
            *("qwen", "-o", "stream-json", "--approval-mode", "yolo"),
            *("--max-session-turns", str(agent.max_turns)),
            f"--chat-recording={json.dumps(context.is_kept)}",
            *(("--auth-type", api.lower()) if api else ()),
            *(("-m", model) if model else ()),
            *(("--resume", context.session) if context.session else ()),
        )
        access = _access(api, base_url) if api and base_url else {}
        return Launch(
            argv=argv,
            environment=ENVIRONMENT | access,
            stdin=brief,
            home_files={SETTINGS_FILE: json.dumps(SETTINGS, indent=2) + "\n"},
            warnings=endpoint_warnings(agent, base_url),
        )

    def reader(self, *, behind_gateway: bool) -> QwenReader:
        """Return a reader for one run."""
        return QwenReader(behind_gateway=behind_gateway)


SETTINGS: Mapping[str, Any] = {
    "general": {
        "enableAutoUpdate": False,
        "gitCoAuthor": {"commit": False, "pr": False},
        "preventSystemSleep": False,
    },
    "memory": {"enableManagedAutoDream": False, "enableManagedAutoMemory": False},
    "model": {"generationConfig": {"contextWindowSize": NO_WINDOW, "maxRetries": RETRIES}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    # The image does not contain the program's copies of ripgrep for all platforms.
    "tools": {"useBuiltinRipgrep": False, "useRipgrep": False, "webSearch": {"enabled": False}},
}


def _access(api: ModelApiName, base_url: str) -> dict[str, str]:
    """Return the variables for the model's endpoint, with a placeholder in place of the key."""
    if api is ModelApiName.ANTHROPIC:
        return {"ANTHROPIC_BASE_URL": base_url, "ANTHROPIC_API_KEY": PLACEHOLDER_KEY}
    return {"OPENAI_BASE_URL": f"{base_url}/v1", "OPENAI_API_KEY": PLACEHOLDER_KEY}


def _described(event: Mapping[str, Any]) -> str | None:
    match event.get("type"):
        case "assistant" | "user":
            return described_blocks(event)
        case "result":
            return f"result: {event.get('subtype')}, error: {event.get('is_error')}"
        case "system" if event.get("subtype") == "init":
            return f"model: {event.get('model')}"
    return None


def _error_text(result: Mapping[str, Any]) -> str:
    error = result.get("error")
    text = error.get("message") if isinstance(error, dict) else None
    return text if isinstance(text, str) else ""

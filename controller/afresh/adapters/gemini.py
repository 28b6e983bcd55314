"""The adapter for Gemini CLI, which reads the brief from standard input and prints JSON events.

This module owns Gemini CLI's flags, its settings and the meaning of its events. It was written for
Gemini CLI 0.61.0.
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
from afresh.adapters.endings import TEXT_LENGTH, USED_UP, Wording, failed
from afresh.adapters.event_stream import EventReader
from afresh.contract.order import Agent
from afresh.contract.text import shortened
from afresh.contract.words import Outcome

# One retry, after about five seconds: the runner repeats an episode where that helps.
ATTEMPTS = 2
ENVIRONMENT = {
    # Otherwise the program starts a second process of itself.
    "GEMINI_CLI_NO_RELAUNCH": "true",
    "GEMINI_TELEMETRY_ENABLED": "false",
}
SETTINGS_FILE = ".gemini/settings.json"
# The text of an answer arrives in pieces. They are joined into log lines of this many characters,
# or fewer if another event follows.
TEXT_LINE_LENGTH = 2000
NO_KEY = 41
TURN_LIMIT = 53
# A line of a stack trace of the program.
STACK = re.compile(r"\s+at (async )?\S+ .{0,10}\(?(file|node):")
# A truncated line still begins with the fields that decide the result.
HEAD = re.compile(
    r'^\{"type":"(?P<type>\w+)","timestamp":"[^"]{0,40}"'
    r'(?:,"role":"(?P<role>\w+)")?(?:,"status":"(?P<status>\w+)")?'
)
OWN_LIMITS = {
    "Maximum session turns exceeded": Outcome.TURN_LIMIT,
    "Loop detected, stopping execution": Outcome.AGENT_ERROR,
}
NO_FINAL_ANSWER = (
    "The agent program ended without a final answer, as it does when the conversation does not fit "
    "into the model's context; make the subtask smaller."
)
WORDING = Wording(
    too_long=re.compile(
        r"exceeds the maximum number of tokens|context (window|limit)", re.IGNORECASE
    ),
    auth=re.compile(
        r"api key (not valid|not found|expired)|UNAUTHENTICATED|PERMISSION_DENIED|API_KEY_INVALID"
        r"|credits? (are|is) depleted|enable billing|auth method",
        re.IGNORECASE,
    ),
    transient=re.compile(
        r"RESOURCE_EXHAUSTED|UNAVAILABLE|INTERNAL\b|overloaded|rate.?limit|quota|fetch failed"
        r"|without a finish reason|empty response|ECONNRESET|ETIMEDOUT|ECONNREFUSED|EAI_AGAIN"
        r"|ENOTFOUND"
        r"|\b(429|499|500|502|503|504|529)\b",
        re.IGNORECASE,
    ),
)


class GeminiReader(EventReader):
    """Reads the events of one run. The `result` event and those before it decide the result."""

    program = "gemini"
    wording = WORDING
    refusals = (NO_KEY, 42, 44, 52, 55)

    def __init__(self, *, behind_gateway: bool) -> None:
        super().__init__(behind_gateway=behind_gateway)
        self._result: Mapping[str, Any] | None = None
        self._text = ""
        self._has_final_answer = False
        self._limit: str | None = None

    def _take_truncated(self, line: str) -> Mapping[str, Any] | None:
        head = HEAD.match(line)
        return {name: value for name, value in head.groupdict().items() if value} if head else None

    def _take(self, event: Mapping[str, Any]) -> str | None:
        self._note(event)
        if event.get("type") == "message":
            return self._text_line(event)
        text, self._text = self._text, ""
        return "\n".join(filter(None, [" ".join(text.split()), _described(event)])) or None

    def _note(self, event: Mapping[str, Any]) -> None:
        """Remember the facts on which the verdict depends."""
        match event.get("type"):
            case "init":
                self._note_session(event.get("session_id"))
            case "message":
                self._has_final_answer |= event.get("role") == "assistant"
            case "tool_use" | "tool_result":
                self._has_final_answer = False
            case "error":
                message = event.get("message")
                self._last_error = message if isinstance(message, str) else ""
                if self._last_error in OWN_LIMITS:
                    self._limit = self._last_error
            case "result":
                self._result = event

    def _text_line(self, event: Mapping[str, Any]) -> str | None:
        content = event.get("content")
        if event.get("role") != "assistant" or not isinstance(content, str):
            return None
        self._text += content
        if len(self._text) < TEXT_LINE_LENGTH:
            return None
        text, self._text = self._text, ""
        return " ".join(text.split())

    def error(self, line: str) -> str | None:
        """Read a line of standard error and, before the first event, remember it if not empty."""
        if STACK.match(line):
            return None
        if self._events:
            return line or None
        return super().error(line)

    def _judge(self, exit_code: int) -> Verdict:
        """Success is a successful `result` event after a final answer, and exit code 0.

        The exit code alone is not enough: it is also 0 after SIGTERM.
        """
        result = self._result
        if exit_code == TURN_LIMIT or OWN_LIMITS.get(self._limit or "") is Outcome.TURN_LIMIT:
            return USED_UP
        if result is None:
            return self._without_result(exit_code)
        if result.get("status") != "success" or exit_code != 0:
            return self._failure(_error_text(result), exit_code)
        if self._limit:
            return self._failure(self._limit, exit_code)
        if not self._has_final_answer:
            return Verdict(outcome=Outcome.CONTEXT_EXHAUSTED, message=NO_FINAL_ANSWER)
        return Verdict()

    def _without_result(self, exit_code: int) -> Verdict:
        # Behind the gateway there is a key, so the settings of the repository require another one.
        if exit_code == NO_KEY and not self._behind_gateway:
            return failed(Outcome.AUTH, self._last_message(exit_code))
        return super()._without_result(exit_code)


class GeminiAdapter:
    """See `adapter.Adapter`."""

    version = "0.61.0"
    program_files: tuple[str, ...] = ()

    def launch(
        self, agent: Agent, brief: str, base_url: str | None, context: Context = ONE_RUN
    ) -> Launch:
        """Return the non-interactive command that reads the brief from standard input."""
        argv = ["gemini", "-o", "stream-json", "--approval-mode", "yolo", "--skip-trust"]
        if agent.model:
            argv += ["-m", agent.model]
        if context.session:
            argv += ["--resume", context.session]
        environment = dict(ENVIRONMENT)
        if base_url:
            environment |= {"GOOGLE_GEMINI_BASE_URL": base_url, "GEMINI_API_KEY": PLACEHOLDER_KEY}
        settings = json.dumps(_settings(agent, has_gateway=base_url is not None), indent=2)
        return Launch(
            argv=tuple(argv),
            environment=environment,
            stdin=brief,
            home_files={SETTINGS_FILE: f"{settings}\n"},
            warnings=endpoint_warnings(agent, base_url),
        )

    def reader(self, *, behind_gateway: bool) -> GeminiReader:
        """Return a reader for one run."""
        return GeminiReader(behind_gateway=behind_gateway)


def _settings(agent: Agent, *, has_gateway: bool) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "general": {
            "maxAttempts": ATTEMPTS,
            "enableAutoUpdate": False,
            "enableAutoUpdateNotification": False,
        },
        # Otherwise it drops parts of the conversation without a message; with 1, it stops when the
        # context is full.
        "model": {"maxSessionTurns": agent.max_turns, "compressionThreshold": 1},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    if has_gateway:
        settings["security"] = {"auth": {"selectedType": "gemini-api-key"}}
    return settings


def _described(event: Mapping[str, Any]) -> str | None:
    match event.get("type"):
        case "init":
            return f"model: {event.get('model')}"
        case "tool_use":
            given = shortened(json.dumps(event.get("parameters")), TEXT_LENGTH)
            return f"{event.get('tool_name')}: {given}"
        case "tool_result":
            failed = " failed" if event.get("status") == "error" else ""
            output = event.get("output") or _error_text(event)
            text = shortened(" ".join(str(output).split()), TEXT_LENGTH)
            return f"-> {text}{failed}".replace("  ", " ")
        case "error":
            return f"{event.get('severity')}: {event.get('message')}"
        case "result":
            return " ".join(f"result: {event.get('status')} {_error_text(event)}".split())
    return None


def _error_text(event: Mapping[str, Any]) -> str:
    error = event.get("error")
    text = error.get("message") if isinstance(error, dict) else None
    return text if isinstance(text, str) else ""

"""The adapter for Claude Code, which reads the brief from standard input and prints JSON events.

This module owns Claude Code's flags, its environment and the meaning of its events. It was written
for Claude Code 2.1.197.
"""

import re
from collections.abc import Mapping
from typing import Any

from afresh.adapters.adapter import ONE_RUN, PLACEHOLDER_KEY, Context, Launch, Verdict
from afresh.adapters.content_blocks import described_blocks
from afresh.adapters.endings import (
    CANNOT_RUN,
    EXHAUSTED,
    NO_RESULT,
    USED_UP,
    UUID,
    Wording,
    json_event,
    not_in_image,
)
from afresh.contract.order import Agent

# Few retries: the runner repeats an episode where that helps, and long waits only use up its time.
RETRIES = "2"
ENVIRONMENT = {
    # Otherwise the system prompt contains the last commits of the repository.
    "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": RETRIES,
    "DISABLE_AUTOUPDATER": "1",
}
# The parts of .claude that belong in a repository; the rest of the folder is for one machine only.
SHARED = (
    *("CLAUDE.md", "settings.json", "agents/", "commands/", "hooks/", "output-styles/", "rules/"),
    *("skills/", "workflows/"),
)
RESULT_HEAD = re.compile(r'^\{"type":"result","subtype":"(\w+)","is_error":(true|false)')
WORDING = Wording(
    too_long=re.compile(r"prompt is too long|context (window|limit)", re.IGNORECASE),
    auth=re.compile(
        r"not logged in|invalid api key|credit balance is too low|oauth token|status 401|\(401\)"
        r"|api usage limits|organization has been disabled|extra usage is required",
        re.IGNORECASE,
    ),
    transient=re.compile(
        r"no messages returned|overloaded|rate.?limit|unable to connect|empty or malformed response"
        r"|ECONNRESET|ETIMEDOUT|ECONNREFUSED|EAI_AGAIN|\b(429|500|502|503|504|529)\b"
        r"|hit your .*limit|out of extra usage",
        re.IGNORECASE,
    ),
)


class ClaudeReader:
    """Reads the events of one run. The last `result` event decides the result."""

    asked = 0

    def __init__(self, *, behind_gateway: bool) -> None:
        self._behind_gateway = behind_gateway
        self._result: Mapping[str, Any] | None = None
        self._events = 0
        self._is_compacted = False
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
            event = {"type": "result", "subtype": head[1], "is_error": head[2] == "true"}
        self._events += 1
        session = event.get("session_id")
        if isinstance(session, str) and UUID.fullmatch(session):
            self.session = session
        if event.get("type") == "result":
            self._result = event
        if event.get("subtype") == "compact_boundary":
            self._is_compacted = True
        return _described(event)

    def error(self, line: str) -> str | None:
        """Read a line of standard error and remember the last one that is not empty."""
        self._last_error = line.strip() or self._last_error
        return line or None

    def verdict(self, exit_code: int) -> Verdict:
        """Return the result of the run.

        Success is a `result` event without an error, and exit code 0; neither alone is enough. A
        run whose conversation was compacted is never a success, because the program has replaced
        the brief by its own summary.
        """
        if self._is_compacted:
            return EXHAUSTED
        result = self._result
        if result is None:
            return self._without_result(exit_code)
        subtype, failed = result.get("subtype"), result.get("is_error") is not False
        if subtype == "success" and not failed and exit_code == 0:
            return Verdict()
        if subtype == "error_max_turns":
            return USED_UP
        return WORDING.verdict(
            _error_text(result) or f"exit code {exit_code}", behind_gateway=self._behind_gateway
        )

    def _without_result(self, exit_code: int) -> Verdict:
        if exit_code in CANNOT_RUN and not self._events:
            return not_in_image("claude")
        if exit_code == 0:
            return NO_RESULT
        return WORDING.verdict(
            self._last_error or f"exit code {exit_code}", behind_gateway=self._behind_gateway
        )


class ClaudeAdapter:
    """See `adapter.Adapter`."""

    version = "2.1.197"
    program_files: tuple[str, ...] = (
        "**/.claude/*",
        *(f"!**/.claude/{name}" for name in SHARED),
    )

    def launch(
        self, agent: Agent, brief: str, base_url: str | None, context: Context = ONE_RUN
    ) -> Launch:
        """Return the non-interactive command that reads the brief from standard input."""
        argv = [
            *("claude", "-p", "--output-format", "stream-json", "--verbose"),
            *("--max-turns", str(agent.max_turns)),
            *("--permission-mode", "bypassPermissions"),
            *(() if context.is_kept else ("--no-session-persistence",)),
            "--strict-mcp-config",
            *(("--resume", context.session) if context.session else ()),
        ]
        environment = dict(ENVIRONMENT)
        if agent.model:
            argv += ["--model", agent.model]
            environment["ANTHROPIC_SMALL_FAST_MODEL"] = agent.model
        if base_url:
            environment |= {"ANTHROPIC_BASE_URL": base_url, "ANTHROPIC_API_KEY": PLACEHOLDER_KEY}
        elif agent.endpoint:
            environment["ANTHROPIC_BASE_URL"] = agent.endpoint
        return Launch(argv=tuple(argv), environment=environment, stdin=brief)

    def reader(self, *, behind_gateway: bool) -> ClaudeReader:
        """Return a reader for one run."""
        return ClaudeReader(behind_gateway=behind_gateway)


def _described(event: Mapping[str, Any]) -> str | None:
    match event.get("type"):
        case "assistant" | "user":
            return described_blocks(event)
        case "result":
            return f"result: {event.get('subtype')}, error: {event.get('is_error')}"
        case "system" if event.get("subtype") == "init":
            return f"model: {event.get('model')}"
        case "system" if event.get("subtype") == "compact_boundary":
            return "the conversation is full and is replaced by a summary"
        case "system" if event.get("subtype") == "api_retry":
            return f"repeating the request: {event.get('error_status')} {event.get('error')}"
    return None


def _error_text(result: Mapping[str, Any]) -> str:
    errors = result.get("errors")
    text = errors[0] if isinstance(errors, list) and errors else result.get("result")
    return text if isinstance(text, str) else ""

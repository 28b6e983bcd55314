"""The adapter for Claude Code, which reads the brief from standard input and prints JSON events.

This module owns Claude Code's flags, its environment and the meaning of its events. It was written
for Claude Code 2.1.197.
"""

import re
from collections.abc import Mapping
from typing import Any

from afresh.adapters.adapter import ONE_RUN, PLACEHOLDER_KEY, Context, Launch, Verdict
from afresh.adapters.block_stream import BlockReader
from afresh.adapters.endings import EXHAUSTED, USED_UP, Wording
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


class ClaudeReader(BlockReader):
    """Reads the events of one run; see `block_stream.BlockReader`.

    A run whose conversation was compacted is never a success, because the program has replaced the
    brief by its own summary.
    """

    program = "claude"
    wording = WORDING

    def __init__(self, *, behind_gateway: bool) -> None:
        super().__init__(behind_gateway=behind_gateway)
        self._is_compacted = False

    def _take(self, event: Mapping[str, Any]) -> str | None:
        if event.get("subtype") == "compact_boundary":
            self._is_compacted = True
        return super()._take(event)

    def _described(self, event: Mapping[str, Any]) -> str | None:
        match event.get("type"), event.get("subtype"):
            case "system", "compact_boundary":
                return "the conversation is full and is replaced by a summary"
            case "system", "api_retry":
                status, error = event.get("error_status"), event.get("error")
                return f"repeating the request: {status} {error}"
        return super()._described(event)

    def _judge(self, exit_code: int) -> Verdict:
        if self._is_compacted:
            return EXHAUSTED
        if self._result and self._result.get("subtype") == "error_max_turns":
            return USED_UP
        return super()._judge(exit_code)

    def _error_text(self, result: Mapping[str, Any]) -> str:
        errors = result.get("errors")
        text = errors[0] if isinstance(errors, list) and errors else result.get("result")
        return text if isinstance(text, str) else ""


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

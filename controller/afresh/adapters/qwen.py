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
from afresh.adapters.block_stream import BlockReader
from afresh.adapters.default_models import DEFAULT_MODELS
from afresh.adapters.endings import USED_UP, Wording
from afresh.contract.abilities import gateway_api
from afresh.contract.order import Agent
from afresh.contract.words import ModelApiName

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


class QwenReader(BlockReader):
    """Reads the events of one run; see `block_stream.BlockReader`."""

    program = "qwen"
    wording = WORDING
    refusals = (42, 44, 52)

    def _judge(self, exit_code: int) -> Verdict:
        return USED_UP if exit_code == TURN_LIMIT else super()._judge(exit_code)

    def _error_text(self, result: Mapping[str, Any]) -> str:
        error = result.get("error")
        text = error.get("message") if isinstance(error, dict) else None
        return text if isinstance(text, str) else ""


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

"""The adapter for Codex, which reads the brief from standard input and prints JSON events.

This module owns Codex's flags, its configuration and the meaning of its events. It was written for
Codex 0.169.0.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from afresh.adapters.adapter import ONE_RUN, PLACEHOLDER_KEY, Context, Launch, Verdict
from afresh.adapters.endings import EXHAUSTED, NO_RESULT, TEXT_LENGTH, Wording
from afresh.adapters.event_stream import EventReader
from afresh.contract.order import Agent
from afresh.contract.text import one_line, shortened

CONFIG_FILE = ".codex/config.toml"
KEY_VARIABLE = "AFRESH_GATEWAY_KEY"
# With plugins, Codex would fetch lists from the internet at the start. With unbounded retries, it
# would wait forever for an endpoint that refuses connections. Requests are not compressed, because
# the gateway reads them.
CONFIG = '''\
check_for_update_on_startup = false
analytics.enabled = false
# The provider runs this tool; the gateway refuses it.
web_search = "disabled"

[features]
apps = false
enable_request_compression = false
image_generation = false
plugins = false
remote_plugin = false
unbounded_connection_retries = false

# Otherwise Codex replaces a full conversation, with the brief, by a summary and does not report it.
[[hooks.PreCompact]]

[[hooks.PreCompact.hooks]]
type = "command"
command = """echo '{"continue": false}'"""
'''
# Few retries: the runner repeats an episode where that helps, and long waits only use up its time.
PROVIDER = """
[model_providers.gateway]
name = "gateway"
base_url = "{base_url}/v1"
wire_api = "responses"
env_key = "{key_variable}"
request_max_retries = 2
stream_max_retries = 1
"""
# Items that show a decision of the model. A plan has no completion event; tools have one.
PLAN = "todo_list"
TOOLS = ("command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search")
ITEM_HEAD = re.compile(r'^\{"type":"(item\.\w+)","item":\{"id":"[^"]{0,40}","type":"(\w+)"')
HOOK_FLAG = "--dangerously-bypass-hook-trust"
WORDING = Wording(
    too_long=re.compile(r"context (window|length)|request too large", re.IGNORECASE),
    auth=re.compile(
        r"status 40[13]|quota exceeded|billing|not logged in|missing environment variable"
        r"|access token|refresh token",
        re.IGNORECASE,
    ),
    transient=re.compile(
        r"status:? (408|409|429|5\d\d)|stream disconnected|connection failed|error sending request"
        r"|experiencing high demand|at capacity|rate limit|usage limit|timed? ?out",
        re.IGNORECASE,
    ),
)


class _Answers:
    """Counts the model's answers by the items that they cause.

    If tools of one answer run one after another, the answer is counted once for each tool.
    """

    def __init__(self) -> None:
        self.asked = 0
        self._is_asking = True
        self._open = 0

    def take(self, event: Mapping[str, Any]) -> None:
        """Read an event."""
        kind, item = event.get("type"), event.get("item")
        what = item.get("type") if isinstance(item, dict) else None
        has_begun, has_ended = kind == "item.started", kind == "item.completed"
        if what == PLAN and kind in ("item.started", "item.updated"):
            self._answered()
            self._ask()
        elif what in TOOLS and has_begun:
            self._answered()
            self._open += 1
        elif what in TOOLS and has_ended:
            self._answered()
            self._open = max(0, self._open - 1)
            if not self._open:
                self._ask()
        elif what in ("agent_message", "reasoning") and has_ended:
            self._answered()

    def _answered(self) -> None:
        if self._is_asking:
            self._is_asking = False
            self.asked = max(1, self.asked)

    def _ask(self) -> None:
        self._is_asking = True
        self.asked += 1


class CodexReader(EventReader):
    """Reads the events of one run. The last event that ends a turn decides the result."""

    program = "codex"
    wording = WORDING

    def __init__(self, *, behind_gateway: bool) -> None:
        super().__init__(behind_gateway=behind_gateway)
        self._is_open = False
        self._is_complete = False
        self._failure_text = ""
        self._has_complained = False
        self._answers = _Answers()

    def _take_truncated(self, line: str) -> None:
        if head := ITEM_HEAD.match(line):
            self._answers.take({"type": head[1], "item": {"type": head[2]}})

    def _take(self, event: Mapping[str, Any]) -> str | None:
        self._answers.take(event)
        match event.get("type"):
            case "thread.started":
                self._note_session(event.get("thread_id"))
            case "turn.started":
                self._is_open, self._is_complete, self._failure_text = True, False, ""
            case "turn.completed":
                self._is_open, self._is_complete = False, True
            case "turn.failed" | "error":
                self._is_complete = False
                self._failure_text = _error_text(event) or self._failure_text
        return _described(event)

    @property
    def asked(self) -> int:
        """The number of requests. Items that run at the same time count as one answer.

        The events do not report requests.
        """
        return self._answers.asked

    def error(self, line: str) -> str | None:
        """Read a line of standard error.

        Remembers the last line that is not empty, and whether a line began with "Error".
        """
        self._has_complained |= line.startswith("Error")
        return super().error(line)

    def _judge(self, exit_code: int) -> Verdict:
        """Success is a completed turn and exit code 0; neither alone is enough."""
        if self._is_complete and exit_code == 0:
            return Verdict()
        has_said = self._failure_text or self._has_complained
        if exit_code == 1 and self._is_open and not has_said:
            return EXHAUSTED  # only the PreCompact hook stops a turn without an error message
        if exit_code == 0 and not self._failure_text:
            return NO_RESULT
        return self._failure(self._failure_text, exit_code)


class CodexAdapter:
    """See `adapter.Adapter`."""

    version = "0.169.0"
    program_files: tuple[str, ...] = ()

    def launch(
        self, agent: Agent, brief: str, base_url: str | None, context: Context = ONE_RUN
    ) -> Launch:
        """Return the non-interactive command that reads the brief from standard input."""
        argv = [
            *("codex", "exec", *(("resume",) if context.session else ()), "--json"),
            *("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", HOOK_FLAG),
            *(() if context.is_kept else ("--ephemeral",)),
            *(("--model", agent.model) if agent.model else ()),
            *((context.session,) if context.session else ()),
            "-",
        ]
        config, environment = CONFIG, {}
        if base_url:
            provider = PROVIDER.format(base_url=base_url, key_variable=KEY_VARIABLE)
            config = f'model_provider = "gateway"\n{CONFIG}{provider}'
            environment = {KEY_VARIABLE: PLACEHOLDER_KEY}
        elif agent.endpoint:
            root = agent.endpoint.rstrip("/").removesuffix("/v1")
            config = f'openai_base_url = "{root}/v1"\n{CONFIG}'
        return Launch(
            argv=tuple(argv),
            environment=environment,
            stdin=brief,
            home_files={CONFIG_FILE: config},
        )

    def reader(self, *, behind_gateway: bool) -> CodexReader:
        """Return a reader for one run."""
        return CodexReader(behind_gateway=behind_gateway)


def _error_text(event: Mapping[str, Any]) -> str:
    error = event.get("error")
    text = error.get("message") if isinstance(error, dict) else event.get("message")
    return text if isinstance(text, str) else ""


def _described(event: Mapping[str, Any]) -> str | None:
    match event.get("type"):
        case "item.completed":
            item = event.get("item")
            return _described_item(item) if isinstance(item, dict) else None
        case "turn.completed":
            return "result: the turn is completed"
        case "error":
            return f"error: {one_line(_error_text(event))}"
        case "turn.failed":
            return f"result: failed: {one_line(_error_text(event))}"
    return None


def _described_item(item: Mapping[str, Any]) -> str | None:
    match item.get("type"):
        case "agent_message":
            return " ".join(str(item.get("text")).split()) or None
        case "command_execution":
            output = shortened(one_line(str(item.get("aggregated_output"))), TEXT_LENGTH)
            return f"{item.get('command')}\n-> {output} (exit code {item.get('exit_code')})"
        case "file_change":
            changes = item.get("changes")
            return f"changed: {shortened(json.dumps(changes), TEXT_LENGTH)}"
        case "error" if HOOK_FLAG not in str(item.get("message")):
            return f"error: {one_line(str(item.get('message')))}"
    return None

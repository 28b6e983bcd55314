"""Samples of the events of each program that prints JSON events, and a way to read them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from afresh.adapters.adapter import Reader
from afresh.adapters.registry import adapter_of
from afresh.contract.words import AdapterName

Event = dict[str, Any]
UUID = "bbd16f3f-c099-40e5-9979-5a023f9b129c"


@dataclass(frozen=True, kw_only=True)
class Stream:
    """Samples of one program's events.

    `good` are the events of a successful run, and `begun` is an event that does not end a run.
    `failed` returns the event of a run that ends with an error message, `named` an event with a
    session id. `session` is a valid id. The lines `deep` have a place for nested lists.
    """

    good: tuple[Event, ...]
    begun: Event
    failed: Callable[[str], Event]
    named: Callable[[object], Event]
    session: str = UUID
    deep: tuple[str, ...]


def read(
    name: AdapterName, *events: object, errors: tuple[str, ...] = (), behind_gateway: bool = True
) -> Reader:
    """Return a reader that has read the events or lines, and then the lines of standard error."""
    reader = adapter_of(name).reader(behind_gateway=behind_gateway)
    for event in events:
        reader.event(line_of(event))
    for line in errors:
        reader.error(line)
    return reader


def line_of(event: object) -> str:
    """Return the line that a program prints for an event; a line is returned as it is."""
    return event if isinstance(event, str) else json.dumps(event, separators=(",", ":"))


def opencode_error(text: str, status: int | None = None) -> Event:
    """Return OpenCode's event for a request that failed."""
    data = {"message": text, **({"statusCode": status} if status else {})}
    return {"type": "error", "sessionID": UUID, "error": {"name": "APIError", "data": data}}


_CLAUDE_GOOD: Event = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "num_turns": 3,
    "result": "Done",
}
_QWEN_HEAD: Event = {"uuid": UUID, "session_id": UUID}
_QWEN_GOOD: Event = {"type": "result", "subtype": "success", **_QWEN_HEAD, "is_error": False}
_GEMINI_GOOD: Event = {"type": "result", "timestamp": "2026-11-22T07:09Z", "status": "success"}

STREAMS: Mapping[AdapterName, Stream] = {
    AdapterName.CLAUDE: Stream(
        good=(_CLAUDE_GOOD,),
        begun={"type": "system", "subtype": "init"},
        failed=lambda text: {**_CLAUDE_GOOD, "is_error": True, "result": text},
        named=lambda value: {**_CLAUDE_GOOD, "session_id": value},
        deep=('{"type":"result","subtype":%s}', '{"type":"result","errors":%s}'),
    ),
    AdapterName.CODEX: Stream(
        good=({"type": "turn.started"}, {"type": "turn.completed", "usage": {"input_tokens": 200}}),
        begun={"type": "thread.started", "thread_id": UUID},
        failed=lambda text: {"type": "turn.failed", "error": {"message": text}},
        named=lambda value: {"type": "thread.started", "thread_id": value},
        deep=('{"type":"item.completed","item":%s}', '{"type":"turn.failed","error":%s}'),
    ),
    AdapterName.GEMINI: Stream(
        good=({"type": "message", "role": "assistant", "content": "Done."}, _GEMINI_GOOD),
        begun={"type": "init", "model": "gemini-x"},
        failed=lambda text: {
            **_GEMINI_GOOD,
            "status": "error",
            "error": {"type": "unknown", "message": f"[API Error: {text}]"},
        },
        named=lambda value: {"type": "init", "session_id": value},
        deep=('{"type":"result","status":%s}', '{"type":"tool_use","parameters":%s}'),
    ),
    AdapterName.OPENCODE: Stream(
        good=({"type": "step_finish", "part": {"type": "step-finish", "reason": "stop"}},),
        begun={"type": "step_start"},
        failed=opencode_error,
        named=lambda value: {"type": "step_start", "sessionID": value},
        session="ses_dfdf93154ffezDx10ZF8qEhSEh",
        deep=('{"type":"tool_use","part":%s}', '{"type":"error","error":{"name":%s}}'),
    ),
    AdapterName.QWEN: Stream(
        good=({"type": "system", "subtype": "init", **_QWEN_HEAD}, _QWEN_GOOD),
        begun={"type": "system", "subtype": "init", **_QWEN_HEAD},
        failed=lambda text: {
            **_QWEN_GOOD,
            "subtype": "error_during_execution",
            "is_error": True,
            "error": {"message": f"[API Error: {text}]"},
        },
        named=lambda value: {"type": "system", "subtype": "init", "session_id": value},
        deep=(
            '{"type":"result","subtype":%s}',
            '{"type":"assistant","message":{"content":[{"type":"tool_use","input":%s}]}}',
        ),
    ),
}

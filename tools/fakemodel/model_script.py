"""Says what the scripted model answers: a conversation goes in, a reply comes out.

The answer depends on the conversation alone, so restarts and parallel episodes change nothing. It
must not know HTTP, an API, an agent program's tools, tokens or misbehaviour.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

_OUTBOX = ".afresh/outbox"
_PASSED = re.compile(r"^OK$", re.MULTILINE)


class Tool(Enum):
    """What an agent can be asked to do, whatever its program calls it."""

    RUN = "run"
    READ = "read"
    WRITE = "write"
    EDIT = "edit"


@dataclass(frozen=True, slots=True)
class Call:
    """One use of a tool; paths are relative to the worktree.

    `input` has `command` (run), `path` (read), `path` and `content` (write), or `path`, `old` and
    `new` (edit).
    """

    tool: Tool
    input: dict[str, str]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model says, and the tools that it wants to use; without any, its turn is over."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    when: re.Pattern[str] | None = None

    def follows(self, result: str) -> bool:
        """Tell whether the reply fits what the tools just answered."""
        return self.when is None or self.when.search(result) is not None


@dataclass(frozen=True, slots=True)
class Conversation:
    """What matters in a request: the latest brief, and what the tools answered since then.

    `results` holds one text for each turn that used tools. `briefs` tells how many the context
    holds: more than one where an agent goes on with its own. `tools` are the names that the request
    offers, `instructions` the system prompt.
    """

    brief: str
    briefs: int
    results: tuple[str, ...]
    tools: frozenset[str]
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class SubtaskScript:
    """How one subtask is done: a look around, then the work, or a word that it is done already."""

    subtask: str
    prompt: str
    verify: str
    look: Reply
    done_when: re.Pattern[str]
    work: tuple[Reply, ...]

    def reply(self, results: tuple[str, ...]) -> Reply:
        """Return what comes after the turns whose tools answered `results`."""
        if not results:
            return self.look
        if self.done_when.search(results[0]):
            return _next_reply(_already_done(self.verify), results[1:])
        return _next_reply(self.work, results[1:])

    def reply_at_once(self) -> Reply:
        """Return all of the work as one reply, for an agent that has no turns."""
        return Reply("This is all.", tuple(call for reply in self.work for call in reply.calls))


def load_scripts(folder: Path) -> tuple[SubtaskScript, ...]:
    """Read the subtasks and the script of each from the demo's folder."""
    subtasks = json.loads((folder / "subtasks.json").read_text(encoding="utf-8"))
    return tuple(_load_script(subtask, folder / "replies" / subtask["id"]) for subtask in subtasks)


def find_script(scripts: Iterable[SubtaskScript], brief: str) -> SubtaskScript | None:
    """Return the script whose prompt stands in `brief`, however it is wrapped, quoted or indented.

    A title would not do: a brief also names the subtasks that are done and the next one.
    """
    words = _words(brief)
    return next((script for script in scripts if _words(script.prompt) in words), None)


def without_script(*, can_write: bool) -> Reply:
    """Answer a prompt that has no script: block with the reason, where that can be written."""
    reason = (
        "The demo's model is scripted and knows only the demo's own prompts; this is another one."
    )
    return blocked(reason) if can_write else Reply(reason)


def blocked(reason: str) -> Reply:
    """Return the reply that says why the work cannot go on."""
    return Reply("I cannot go on.", (write_file(f"{_OUTBOX}/blocked.md", f"{reason}\n"),))


def run(command: str) -> Call:
    """Return the use of a shell."""
    return Call(Tool.RUN, {"command": command})


def write_file(path: str, content: str) -> Call:
    """Return the writing of a new file."""
    return Call(Tool.WRITE, {"path": path, "content": content})


def _next_reply(replies: Iterable[Reply], results: Iterable[str]) -> Reply:
    # Replays the turns: each reply is the first one left that fits what the tools answered.
    left = iter(replies)
    reply = Reply("That is all.")
    for result in ("", *results):
        reply = next((candidate for candidate in left if candidate.follows(result)), reply)
    return reply


def _already_done(verify: str) -> tuple[Reply, ...]:
    unchanged = "What the task asks for is there, and its tests pass; nothing is to be changed.\n"
    return (
        Reply("This looks complete, so I run its tests.", (run(verify),)),
        Reply("They pass.", (write_file(f"{_OUTBOX}/unchanged.md", unchanged),), _PASSED),
        Reply("I leave it as it is."),
    )


def _load_script(subtask: dict[str, Any], folder: Path) -> SubtaskScript:
    script = json.loads((folder / "script.json").read_text(encoding="utf-8"))
    return SubtaskScript(
        subtask=subtask["id"],
        prompt=subtask["prompt"],
        verify=" ".join(subtask["verify"]),
        look=_load_reply(script["look"], folder),
        done_when=re.compile(script["done_when"]),
        work=tuple(_load_reply(entry, folder) for entry in script["work"]),
    )


def _load_reply(entry: dict[str, Any], folder: Path) -> Reply:
    calls = entry.get("calls", [])
    return Reply(
        text=entry.get("say", ""),
        calls=tuple(
            Call(
                Tool(call["tool"]),
                {key: _load_text(value, folder) for key, value in call["input"].items()},
            )
            for call in calls
        ),
        when=re.compile(entry["when"]) if "when" in entry else None,
    )


def _load_text(value: str | list[str] | dict[str, str], folder: Path) -> str:
    # A text stands in the script itself, as a list of its lines, or in a file beside the script.
    match value:
        case str():
            return value
        case list():
            return "\n".join(value)
        case _:
            return (folder / value["file"]).read_text(encoding="utf-8")


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text))

"""Decides what the scripted model answers: it turns a conversation into a reply.

The answer depends on the conversation alone, so restarts and parallel episodes do not change it.
This file must not know HTTP, an API, an agent program's tools, tokens or failures.
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
    """The actions that an agent can be asked to do, under any name."""

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
    """The model's text, and the tool calls that it requests; without any, its turn is over.

    `when` is a pattern for the last results; the reply is used only if it matches.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    when: re.Pattern[str] | None = None

    def follows(self, result: str) -> bool:
        """Return whether the reply fits the last results of the tools."""
        return self.when is None or self.when.search(result) is not None


@dataclass(frozen=True, slots=True)
class Conversation:
    """The relevant parts of a request: the latest brief, and the tools' results since then.

    `results` has one text for each turn that used tools. `briefs` is the number of briefs in the
    context: more than one if an agent continues its own context. `tools` are the names of the
    offered tools, `instructions` is the system prompt.
    """

    brief: str
    briefs: int
    results: tuple[str, ...]
    tools: frozenset[str]
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class SubtaskScript:
    """The replies for one subtask: a look at the files, then the work, or that it is done."""

    subtask: str
    prompt: str
    verify: str
    look: Reply
    done_when: re.Pattern[str]
    work: tuple[Reply, ...]

    def reply(self, results: tuple[str, ...]) -> Reply:
        """Return the reply after turns with these results."""
        if not results:
            return self.look
        if self.done_when.search(results[0]):
            return _next_reply(_already_done(self.verify), results[1:])
        return _next_reply(self.work, results[1:])

    def reply_at_once(self) -> Reply:
        """Return the whole work as one reply, for an agent that has no turns."""
        return Reply("This is all.", tuple(call for reply in self.work for call in reply.calls))


def load_scripts(folder: Path) -> tuple[SubtaskScript, ...]:
    """Read the subtasks and their scripts from the demo's folder."""
    subtasks = json.loads((folder / "subtasks.json").read_text(encoding="utf-8"))
    return tuple(_load_script(subtask, folder / "replies" / subtask["id"]) for subtask in subtasks)


def find_script(scripts: Iterable[SubtaskScript], brief: str) -> SubtaskScript | None:
    """Return the script whose prompt is in `brief`, whether it is wrapped, quoted or indented.

    Titles are not sufficient: a brief also names the finished subtasks and the next one.
    """
    words = _words(brief)
    return next((script for script in scripts if _words(script.prompt) in words), None)


def without_script(*, can_write: bool) -> Reply:
    """Return the reply to an unknown prompt: it blocks with a reason if it can write files."""
    reason = (
        "The demo's model is scripted and knows only the demo's own prompts; this is another one."
    )
    return blocked(reason) if can_write else Reply(reason)


def blocked(reason: str) -> Reply:
    """Return the reply that blocks the work with a reason."""
    return Reply("I cannot go on.", (write_file(f"{_OUTBOX}/blocked.md", f"{reason}\n"),))


def run(command: str) -> Call:
    """Return the call that runs a shell command."""
    return Call(Tool.RUN, {"command": command})


def write_file(path: str, content: str) -> Call:
    """Return the call that writes a new file."""
    return Call(Tool.WRITE, {"path": path, "content": content})


def _next_reply(replies: Iterable[Reply], results: Iterable[str]) -> Reply:
    # Replays the turns: each reply is the first remaining one that fits the tools' results.
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
    # A text is in the script itself, as a string or a list of lines, or in a file next to it.
    match value:
        case str():
            return value
        case list():
            return "\n".join(value)
        case _:
            return (folder / value["file"]).read_text(encoding="utf-8")


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text))

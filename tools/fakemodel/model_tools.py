"""Translates the scripted model's calls into the tools that the agent's request offers.

One table has each agent program's names of a tool and its arguments. If a program offers only a
shell, the shell reads, writes and edits. This file must not know an API or a script.
"""

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tools.fakemodel.model_script import Call, Reply, Tool

_END = "DEMO_MODEL_END"
_READ, _WRITE, _EDIT, _RUN = Tool.READ, Tool.WRITE, Tool.EDIT, Tool.RUN


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call of an offered tool, with the tool's own names."""

    name: str
    input: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """The model's answer: a text, and tool calls; without any, its turn is over."""

    text: str = ""
    uses: tuple[ToolUse, ...] = ()


Arguments = Callable[[Mapping[str, str]], dict[str, Any]]


def _renamed(fixed: Mapping[str, Any] | None = None, **names: str) -> Arguments:
    """Return a function that renames the arguments and adds the fixed ones."""
    return lambda given: {**{names[key]: given[key] for key in names}, **(fixed or {})}


_DESCRIBED = {"description": "Run a command"}
_CLAUDE_EDIT = _renamed(path="file_path", old="old_string", new="new_string")
_OPENCODE_EDIT = _renamed(path="filePath", old="oldString", new="newString")

# The names of each tool in Claude Code, Gemini CLI, OpenCode and Codex. All names are different.
_NAMES: Mapping[Tool, Mapping[str, Arguments]] = {
    _RUN: {
        "Bash": _renamed(_DESCRIBED, command="command"),
        "run_shell_command": _renamed(_DESCRIBED, command="command"),
        "bash": _renamed(_DESCRIBED, command="command"),
        "exec_command": _renamed(command="cmd"),
        "shell_command": _renamed(command="command"),
        "shell": lambda given: {"command": ["sh", "-c", given["command"]]},
    },
    _READ: {
        "Read": _renamed(path="file_path"),
        "read_file": _renamed(path="file_path"),
        "read": _renamed(path="filePath"),
    },
    _WRITE: {
        "Write": _renamed(path="file_path", content="content"),
        "write_file": _renamed(path="file_path", content="content"),
        "write": _renamed(path="filePath", content="content"),
    },
    _EDIT: {
        "Edit": _CLAUDE_EDIT,
        "replace": lambda given: {**_CLAUDE_EDIT(given), "instruction": "Replace the old text."},
        "edit": _OPENCODE_EDIT,
    },
}

# Qwen Code's file tools need absolute paths, which a script cannot know, so its shell is used.
_WANTS_ABSOLUTE_PATHS = frozenset({"edit", "read_file", "run_shell_command"})


def can_write(tools: frozenset[str]) -> bool:
    """Return whether an agent with these tools can write a file."""
    return _find(Tool.WRITE, tools) is not None or _find(Tool.RUN, tools) is not None


def use_tools(reply: Reply, tools: frozenset[str]) -> ModelTurn:
    """Return `reply` with its calls as calls of the offered tools.

    Calls that no offered tool can do are left out.
    """
    uses = (_use(call, tools) for call in reply.calls)
    return ModelTurn(reply.text, tuple(use for use in uses if use))


def _use(call: Call, tools: frozenset[str]) -> ToolUse | None:
    if name := _find(call.tool, tools):
        return ToolUse(name, _NAMES[call.tool][name](call.input))
    if call.tool is Tool.RUN or not (shell := _find(Tool.RUN, tools)):
        return None
    return ToolUse(shell, _NAMES[Tool.RUN][shell]({"command": _as_command(call)}))


def _find(tool: Tool, tools: frozenset[str]) -> str | None:
    if tool is not Tool.RUN and tools >= _WANTS_ABSOLUTE_PATHS:
        return None
    return next((name for name in _NAMES[tool] if name in tools), None)


def _as_command(call: Call) -> str:
    path = call.input["path"]
    if call.tool is Tool.READ:
        return f"cat {shlex.quote(path)}"
    if call.tool is Tool.WRITE:
        return _python(
            f"path = pathlib.Path({path!r})",
            "path.parent.mkdir(parents=True, exist_ok=True)",
            f"path.write_text({json.dumps(call.input['content'])})",
        )
    return _python(
        f"path = pathlib.Path({path!r})",
        "text = path.read_text()",
        f"old = {json.dumps(call.input['old'])}",
        "assert text.count(old) == 1, old",
        f"path.write_text(text.replace(old, {json.dumps(call.input['new'])}))",
    )


def _python(*lines: str) -> str:
    return "\n".join((f"python3 - <<'{_END}'", "import pathlib", *lines, _END))

"""The reference of the commands, from their declarations in click. Knows no single command."""

import inspect
import re
import textwrap
from collections.abc import Iterator

import click

from afresh.cli.commands import afresh

_EXAMPLE = re.compile(r"^Example: *(.+)$", re.MULTILINE)
PROGRAM = "afresh"
_PROGRAMS = (f"{PROGRAM} ", "kubectl ")


def render() -> str:
    """Return a section for every command: its help, arguments, options and examples."""
    context = click.Context(afresh, info_name=PROGRAM, **afresh.context_settings)
    return "\n".join(line for item in _commands(context) for line in _section(item)).rstrip()


def examples() -> list[str]:
    """Return all examples in the help texts of the commands."""
    context = click.Context(afresh, info_name=PROGRAM, **afresh.context_settings)
    return [found for item in _commands(context) for found in _examples(_help(item.command))]


def _commands(parent: click.Context) -> Iterator[click.Context]:
    """Yield the contexts of all visible commands below `parent`, ordered by name."""
    if not isinstance(parent.command, click.Group):
        yield parent
        return
    for name in parent.command.list_commands(parent):
        command = parent.command.get_command(parent, name)
        if command is not None and not command.hidden:
            yield from _commands(click.Context(command, info_name=name, parent=parent))


def _section(context: click.Context) -> Iterator[str]:
    text = _help(context.command)
    pieces = context.command.collect_usage_pieces(context)
    yield f"## {context.command_path}\n"
    yield f"```text\n{' '.join([context.command_path, *pieces])}\n```\n"
    yield from _paragraphs(_EXAMPLE.sub("", text))
    yield from _options(context)
    if found := _examples(text):
        yield "```sh\n" + "\n".join(found) + "\n```\n"


def _help(command: click.Command) -> str:
    return inspect.cleandoc(command.help or "").replace("\f", "\n")


def _examples(text: str) -> list[str]:
    return [found.strip() for found in _EXAMPLE.findall(text)]


def _paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs as Markdown; those that click does not rewrap (`\\b`) become code blocks."""
    for block in re.split(r"\n\s*\n", text):
        body = textwrap.dedent(block.replace("\b", "").strip("\n"))
        if not body.strip():
            continue
        if block.lstrip("\n").startswith("\b"):
            yield f"```{'sh' if body.startswith(_PROGRAMS) else 'text'}\n{body}\n```\n"
        else:
            yield " ".join(body.split()).replace("<", "&lt;") + "\n"


def _options(context: click.Context) -> Iterator[str]:
    records = [
        record
        for item in context.command.get_params(context)
        if isinstance(item, click.Option) and "--help" not in item.opts
        if (record := item.get_help_record(context))
    ]
    if not records:
        return
    yield "| option | meaning |"
    yield "|---|---|"
    for names, meaning in records:
        yield f"| `{_choices(names)}` | {_cell(meaning)} |"
    yield ""


def _choices(names: str) -> str:
    """Replace the bar between choices: it ends a table cell, and cannot be escaped in code."""
    return names.replace("|", ", ")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")

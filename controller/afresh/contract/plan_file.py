"""The plan as a file on the branch: `.afresh/PLAN.md`.

This module owns the text form of the plan: rendering, parsing, changing one marker, and the digest.
Pure.
"""

import hashlib
import re
from dataclasses import dataclass

from afresh.contract.markdown import escaped_line, unescaped_line
from afresh.contract.order import PlanLine
from afresh.contract.words import Marker

NOTE = (
    "Written by Afresh. Edit the work package instead: changes to this file are replaced.\n"
    "`[ ]` pending, `[~]` running, `[x]` done, `[!]` needs review, `[S]` skipped."
)
_LINE = re.compile(r"- (\[[ ~x!S]\]) (\S+)(?: (.*))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The goal and one line per subtask. Texts are single lines (see `text.one_line`)."""

    goal: str
    lines: tuple[PlanLine, ...]


def render(plan: Plan) -> str:
    """Return the plan as Markdown. Each text is escaped, so that it cannot forge another line."""
    lines = [_line(line) for line in plan.lines]
    return f"# {escaped_line(plan.goal) or 'Plan'}\n\n{NOTE}\n\n" + "".join(lines)


def parse(text: str) -> Plan:
    """Parse a rendered plan. Lines that do not describe a subtask are ignored."""
    heading, *rest = text.splitlines() or [""]
    found = (_LINE.fullmatch(line) for line in rest)
    return Plan(
        goal=unescaped_line(heading.removeprefix("# ")),
        lines=tuple(
            PlanLine(id=match[2], title=unescaped_line(match[3] or ""), marker=Marker(match[1]))
            for match in found
            if match
        ),
    )


def with_marker(text: str, subtask: str, marker: Marker) -> str:
    """Return `text` with the marker of one subtask changed, and all other bytes unchanged.

    Raises KeyError if the plan has no such subtask.
    """
    lines = text.splitlines(keepends=True)
    for index, line in enumerate(lines):
        match = _LINE.match(line)
        if match and match[2] == subtask:
            lines[index] = line[: match.start(1)] + marker + line[match.end(1) :]
            return "".join(lines)
    raise KeyError(subtask)


def digest(text: str) -> str:
    """Return the digest for comparing two plans: `sha256:` and hexadecimal digits."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _line(line: PlanLine) -> str:
    title = escaped_line(line.title)
    return f"- {line.marker} {line.id}{' ' if title else ''}{title}\n"

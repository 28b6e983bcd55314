"""What a command asks for, as plain values.

Knows neither the command line nor the cluster, and imports nothing that is slow to import.
"""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The package, and the cluster that has it; None means what the kubeconfig says."""

    package: str
    namespace: str | None = None
    kubeconfig: str | None = None
    context: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Guide:
    """Give one subtask a directive and run it again."""

    subtask: str
    directive: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """Leave subtasks out."""

    subtasks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Run subtasks again; none named: all that wait for a person, and what is stalled."""

    subtasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspend:
    """Start nothing new, or go on."""

    suspend: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Stop what runs now."""


Request = Guide | Skip | Retry | Suspend | Cancel


class Form(StrEnum):
    """How a report is written."""

    MARKDOWN = "markdown"
    JSON = "json"


class CommandError(Exception):
    """The command cannot do what was asked; the message is one sentence with the mend."""

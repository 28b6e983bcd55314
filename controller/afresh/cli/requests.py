"""What a command asks for, as plain values.

Knows neither the command line nor the cluster, and imports nothing that is slow to import.
"""

from dataclasses import dataclass
from enum import StrEnum

from afresh.api.phases import RevisionReason
from afresh.contract.words import AdapterName, ContextMode, ModelApiName


@dataclass(frozen=True, kw_only=True)
class Place:
    """A namespace of a cluster; None means what the kubeconfig says."""

    namespace: str | None = None
    kubeconfig: str | None = None
    context: str | None = None


@dataclass(frozen=True, kw_only=True)
class Target(Place):
    """A package in its place."""

    package: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Try whether an agent's image conforms. Without `runner_image`, the operator's is used."""

    image: str
    adapter: AdapterName
    model_api: ModelApiName | None = None
    command: tuple[str, ...] = ()
    runner_image: str | None = None
    pull_secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRun:
    """Run a package in the clone that the current folder is in.

    The package is that of `file`, or one that was run before. The rest holds for this run, in place
    of what the package says; None: what the package says.
    """

    package: str | None = None
    file: str | None = None
    agent: str | None = None
    mode: ContextMode | None = None
    parallelism: int | None = None


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
    """Run subtasks again; without names, all that wait for a person, and a stalled package."""

    subtasks: tuple[str, ...] = ()
    because: RevisionReason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspend:
    """Start no new episode, or continue."""

    suspend: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Stop what runs now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """Make a second package of this name that is asked for the same, perhaps in another mode."""

    name: str
    mode: ContextMode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFile:
    """Write a first package for the repository that the current folder is in."""

    path: str
    force: bool = False
    verify: tuple[str, ...] | None = None
    """The acceptance command; None: one that the repository seems to have."""
    tries: bool | None = None
    """Whether commands may be run; None: a person is asked."""
    seconds: float = 120
    """How long each command may run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyFile:
    """Bring the objects of a file to a cluster."""

    path: str
    agreed: bool = False
    """Whether the change is made without asking."""
    dry_run: bool = False


Request = Guide | Skip | Retry | Suspend | Cancel


class ChangeForm(StrEnum):
    """How the message about a change is written."""

    TEXT = "text"
    JSON = "json"


class Form(StrEnum):
    """How a report is written."""

    MARKDOWN = "markdown"
    JSON = "json"
    HTML = "html"


class SchemaForm(StrEnum):
    """How a schema is written."""

    JSON = "json"
    YAML = "yaml"


class ComparisonForm(StrEnum):
    """How two packages are compared."""

    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"


class ValueForm(StrEnum):
    """How a few values are written."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


class TableForm(StrEnum):
    """How rows are written."""

    TABLE = "table"
    JSON = "json"


class CommandError(Exception):
    """The command cannot do what was asked; the message is one sentence with the remedy."""

"""What a command shows, as plain values.

Knows neither the command line nor the cluster, and imports nothing that is slow to import.
"""

from dataclasses import dataclass
from enum import StrEnum

from afresh.cli.requests import Place, Target


class Output(StrEnum):
    """How the output is written."""

    TEXT = "text"
    JSON = "json"


class ManifestForm(StrEnum):
    """How manifests are written."""

    YAML = "yaml"
    JSON = "json"


class StatusForm(StrEnum):
    """How `status` writes; WIDE leaves out no column and shortens no line."""

    TEXT = "text"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusLook:
    """Which packages are shown: one, or those of a namespace or of all that `selector` matches.

    With `watch`, until they end.
    """

    place: Place
    package: str | None = None
    everywhere: bool = False
    selector: str = ""
    watch: bool = False
    form: StatusForm = StatusForm.TEXT


class Kind(StrEnum):
    """A kind of object, by its plural."""

    WORK_PACKAGES = "workpackages"
    SUBTASKS = "subtasks"
    AGENT_CLASSES = "agentclasses"

    @property
    def singular(self) -> str:
        """The kind as it is written in a manifest, such as WorkPackage."""
        return _SINGULARS[self]


_SINGULARS = {
    Kind.WORK_PACKAGES: "WorkPackage",
    Kind.SUBTASKS: "Subtask",
    Kind.AGENT_CLASSES: "AgentClass",
}


class GetForm(StrEnum):
    """How `get` writes objects."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


@dataclass(frozen=True, slots=True, kw_only=True)
class GetLook:
    """Which objects are printed: one, or those of a namespace or of all that `selector` matches."""

    place: Place
    kind: Kind = Kind.WORK_PACKAGES
    name: str | None = None
    everywhere: bool = False
    selector: str = ""
    form: GetForm = GetForm.TABLE

    @property
    def selectors(self) -> dict[str, str]:
        """The selectors of a request for them."""
        return {"labelSelector": self.selector} if self.selector else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLook:
    """The log of one episode; `follow`: and of those after it, until the package ends."""

    target: Target
    subtask: str | None = None
    attempt: int | None = None
    follow: bool = False
    output: Output = Output.TEXT


class Awaited(StrEnum):
    """What can be waited for: a phase of the package, or that it is gone."""

    PENDING = "Pending"
    QUEUED = "Queued"
    RUNNING = "Running"
    SUSPENDED = "Suspended"
    STALLED = "Stalled"
    AWAITING_APPROVAL = "AwaitingApproval"
    SUCCEEDED = "Succeeded"
    NEEDS_REVIEW = "NeedsReview"
    FAILED = "Failed"
    DELETED = "Deleted"


EXIT_CODES = {
    Awaited.NEEDS_REVIEW: 3,
    Awaited.FAILED: 4,
    Awaited.STALLED: 5,
    Awaited.DELETED: 6,
    Awaited.SUCCEEDED: 7,
    Awaited.SUSPENDED: 8,
}
"""The exit code if a package ends in another phase than the awaited one."""
TIMED_OUT = 124


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitLook:
    """Wait until the package is `awaited`, for at most `seconds`; None: without a limit."""

    target: Target
    awaited: Awaited = Awaited.SUCCEEDED
    seconds: float | None = None
    output: Output = Output.TEXT

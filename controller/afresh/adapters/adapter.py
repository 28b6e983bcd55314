"""What every adapter promises: how to call one agent program, and what its output means.

Knows no program. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from afresh.contract.order import Agent
from afresh.contract.words import Outcome

# What a program that wants a key is given where the gateway holds the real one.
PLACEHOLDER_KEY = "held-by-the-gateway"
ENDPOINT_UNTOLD = (
    "This program learns of spec.endpoint of the AgentClass through the gateway only; set its own "
    "variable for that in spec.env."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start the program: its arguments, environment, input, and files below HOME.

    `warnings` say what is asked of the program that it cannot do.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    home_files: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What the program is to remember from one run to the next.

    `is_kept`: a later run may go on with what this one has learnt. `session`: the earlier run to go
    on with; None for the first.
    """

    is_kept: bool = False
    session: str | None = None


ONE_RUN = Context()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the program's own output says of its end. No outcome: it ended well."""

    outcome: Outcome | None = None
    message: str = ""


class Reader(Protocol):
    """Reads one run of the program. Lines may be cut at their end, and may be any garbage."""

    @property
    def session(self) -> str | None:
        """The name under which the run can be gone on with, as far as it has been told."""
        ...

    @property
    def asked(self) -> int:
        """How often the program is known to ask its model; 0 where it keeps the limit itself."""
        ...

    def event(self, line: str) -> str | None:
        """Take in a line of standard output; return it for people, or None if it says nothing."""
        ...

    def error(self, line: str) -> str | None:
        """Take in a line of standard error; return it for people, or None if it says nothing."""
        ...

    def verdict(self, exit_code: int) -> Verdict:
        """Say how the program ended, given its exit code."""
        ...


class Adapter(Protocol):
    """One agent program."""

    @property
    def version(self) -> str | None:
        """The version of the program that this was written against; None: any program will do."""
        ...

    @property
    def program_files(self) -> tuple[str, ...]:
        """Ignore patterns of git for what it leaves in the worktree for its own use."""
        ...

    def launch(
        self, agent: Agent, brief: str, base_url: str | None, context: Context = ONE_RUN
    ) -> Launch:
        """Return how to start it. `base_url` is the gateway's; None: it needs no gateway.

        A program that cannot resume takes no notice of `context`.
        """
        ...

    def reader(self, *, behind_gateway: bool) -> Reader:
        """Return a reader for one run. Without a gateway it also judges by the provider's words."""
        ...


def endpoint_warnings(agent: Agent, base_url: str | None) -> tuple[str, ...]:
    """Return the warning of a program that takes its endpoint from the gateway alone."""
    return (ENDPOINT_UNTOLD,) if agent.endpoint and base_url is None else ()

"""The interface of an adapter: how to start one agent program, and what its output means.

This module does not know any agent program. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from afresh.contract.order import Agent
from afresh.contract.words import Outcome

# The key that a program is given where the gateway adds the real one.
PLACEHOLDER_KEY = "held-by-the-gateway"
ENDPOINT_IGNORED = (
    "Without the gateway, this program ignores spec.endpoint of the AgentClass; set the program's "
    "own variable for the endpoint in spec.env."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start the program: its arguments, environment, standard input, and files below HOME.

    `warnings` name the settings that the program cannot follow.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    home_files: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def with_key(self, key: str) -> "Launch":
        """Return it with `key` in place of the placeholder."""

        def keyed(values: Mapping[str, str]) -> dict[str, str]:
            return {name: text.replace(PLACEHOLDER_KEY, key) for name, text in values.items()}

        return replace(
            self,
            argv=tuple(word.replace(PLACEHOLDER_KEY, key) for word in self.argv),
            environment=keyed(self.environment),
            home_files=keyed(self.home_files),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What the program remembers from one run to the next.

    `is_kept`: a later run may continue the session of this one. `session`: the session to continue;
    None for the first run.
    """

    is_kept: bool = False
    session: str | None = None


ONE_RUN = Context()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of a run according to the program's output. No outcome means success."""

    outcome: Outcome | None = None
    message: str = ""


class Reader(Protocol):
    """Reads the output of one run. Lines may be truncated, and may contain anything."""

    @property
    def session(self) -> str | None:
        """The id with which a later run can continue the session; None until it is printed."""
        ...

    @property
    def asked(self) -> int:
        """How many requests the program has made to its model, as far as the output shows.

        0 if the program enforces the turn limit itself.
        """
        ...

    def event(self, line: str) -> str | None:
        """Read a line of standard output. Return its text for the log, or None to log nothing."""
        ...

    def error(self, line: str) -> str | None:
        """Read a line of standard error. Return its text for the log, or None to log nothing."""
        ...

    def verdict(self, exit_code: int) -> Verdict:
        """Return the result of the run, given the exit code of the program."""
        ...


class Adapter(Protocol):
    """One agent program."""

    @property
    def version(self) -> str | None:
        """The version of the program for which the adapter was written; None: any program."""
        ...

    @property
    def program_files(self) -> tuple[str, ...]:
        """Patterns, as in .gitignore, of files in the worktree that only the program uses."""
        ...

    def launch(
        self, agent: Agent, brief: str, base_url: str | None, context: Context = ONE_RUN
    ) -> Launch:
        """Return how to start the program. `base_url` is the URL of the gateway; None: no gateway.

        The adapter of a program that cannot resume a session ignores `context`.
        """
        ...

    def reader(self, *, behind_gateway: bool) -> Reader:
        """Return a reader for one run.

        Without a gateway, the reader also recognizes errors of the model provider in the output.
        """
        ...


def endpoint_warnings(agent: Agent, base_url: str | None) -> tuple[str, ...]:
    """Return a warning if the agent has an endpoint that it ignores without the gateway."""
    return (ENDPOINT_IGNORED,) if agent.endpoint and base_url is None else ()

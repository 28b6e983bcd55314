"""The adapter for any program that reads the brief from standard input; exit code 0 is success."""

from afresh.adapters.adapter import ONE_RUN, Context, Launch, Verdict
from afresh.contract.order import Agent
from afresh.contract.words import Outcome


class CommandReader:
    """Passes every line to the log. The exit code alone decides the result."""

    session = None
    asked = 0

    def event(self, line: str) -> str | None:
        """Return the line itself."""
        return line

    def error(self, line: str) -> str | None:
        """Return the line itself."""
        return line

    def verdict(self, exit_code: int) -> Verdict:
        """Return success for exit code 0, and the outcome AgentError for any other."""
        if exit_code == 0:
            return Verdict()
        return Verdict(
            outcome=Outcome.AGENT_ERROR,
            message=f"The agent program ended with exit code {exit_code}; read the end of its "
            "log with afresh logs.",
        )


class CommandAdapter:
    """Runs the command in the Order, `spec.command` of the AgentClass."""

    version = None
    program_files: tuple[str, ...] = ()

    def launch(
        self,
        agent: Agent,
        brief: str,
        base_url: str | None,  # noqa: ARG002
        context: Context = ONE_RUN,  # noqa: ARG002
    ) -> Launch:
        """Return the command of the Order, with the brief as its standard input."""
        return Launch(argv=agent.command, stdin=brief)

    def reader(self, *, behind_gateway: bool) -> CommandReader:  # noqa: ARG002
        """Return a reader for one run."""
        return CommandReader()

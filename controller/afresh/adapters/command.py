"""Any program that reads a brief on standard input and exits with 0 when it ended well."""

from afresh.adapters.adapter import ONE_RUN, Context, Launch, Verdict
from afresh.contract.order import Agent
from afresh.contract.words import Outcome


class CommandReader:
    """Every line is for people; only the exit code decides."""

    session = None
    asked = 0

    def event(self, line: str) -> str | None:
        """Return the line itself."""
        return line

    def error(self, line: str) -> str | None:
        """Return the line itself."""
        return line

    def verdict(self, exit_code: int) -> Verdict:
        """Only 0 is a good end."""
        if exit_code == 0:
            return Verdict()
        return Verdict(
            outcome=Outcome.AGENT_ERROR,
            message=f"The agent's program ended with exit code {exit_code}; read the end of its "
            "log with afresh logs.",
        )


class CommandAdapter:
    """The Order says what to run."""

    version = None
    program_files: tuple[str, ...] = ()

    def launch(
        self,
        agent: Agent,
        brief: str,
        base_url: str | None,  # noqa: ARG002
        context: Context = ONE_RUN,  # noqa: ARG002
    ) -> Launch:
        """Return the Order's own command with the brief as its input."""
        return Launch(argv=agent.command, stdin=brief)

    def reader(self, *, behind_gateway: bool) -> CommandReader:  # noqa: ARG002
        """Return a reader for one run."""
        return CommandReader()

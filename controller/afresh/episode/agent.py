"""Second stage: run the agent's program to its end or its limit, and leave nothing of it running.

Owns the agent's run. What it says is a claim; the stages after it look for themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass

from afresh.adapters.adapter import Launch, Reader, Verdict
from afresh.contract.words import Outcome
from afresh.episode.control import Command, ContainerGone, Ending
from afresh.episode.ending import Ended
from afresh.episode.lines import Line, LineSink
from afresh.episode.script import Script
from afresh.episode.step import GONE, meet, run_step
from afresh.episode.workplace import AGENT, SETUP, Workplace


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnd:
    """How the agent ended. `verdict` is its own word, or the runner's where it had to step in.

    `session` is what its program calls this run, for adapters that resume.
    """

    verdict: Verdict
    exit_code: int | None = None
    session: str | None = None


def get_ready(work: Workplace) -> None:
    """Wait for the agent's container, and run setup in it. Raises Ended."""
    meet(work.agent_control)
    setup = work.order.setup
    if setup is None:
        return
    end = run_step(work.agent_control, SETUP, setup, work.paths.agent_sees, work.log)
    if end.exit_code:
        raise Ended(
            Outcome.CONFIG,
            f"The setup command failed with exit code {end.exit_code}; "
            "correct spec.setup of the WorkPackage or its image.",
            exit_code=end.exit_code,
        )


def run_agent(work: Workplace, launch: Launch, reader: Reader) -> AgentEnd:
    """Run the program. When this returns, none of its processes is left, or the end says so.

    Raises Ended if the container is gone before it begins.
    """
    out = LineSink(_teller(work, reader.event))
    err = LineSink(_teller(work, reader.error))
    script = Script(
        argv=launch.argv, seen=work.paths.agent_sees, environment=launch.environment
    ).text()
    limit = work.order.agent.timeout_seconds
    command = Command(name=AGENT, script=script, stdin=launch.stdin, limit=limit)
    try:
        ending = work.agent_control.run(
            command, out, err, lambda: work.reporter.reached("agentStarted")
        )
    except ContainerGone as gone:
        raise Ended(Outcome.INFRASTRUCTURE, GONE) from gone
    work.reporter.reached("agentEnded")
    cleared = ending.exit_code is None or work.agent_control.clear()
    out.end()
    err.end()
    return AgentEnd(
        verdict=_verdict(ending, cleared, reader.verdict),
        exit_code=ending.exit_code,
        session=reader.session,
    )


def _teller(work: Workplace, read: Callable[[str], str | None]) -> Callable[[Line], None]:
    def take(line: Line) -> None:
        for said in (read(line.text) or "").splitlines():
            work.log.agent(said)

    return take


def _verdict(ending: Ending, cleared: bool, own: Callable[[int], Verdict]) -> Verdict:
    if ending.timed_out:
        return Verdict(
            outcome=Outcome.TIMEOUT,
            message="The agent did not end within spec.episode.timeoutSeconds.",
        )
    if ending.exit_code is None:
        return Verdict(outcome=Outcome.AGENT_ERROR, message="The agent's container was killed.")
    if not cleared:
        return Verdict(
            outcome=Outcome.AGENT_ERROR, message="The agent left processes that cannot be stopped."
        )
    return own(ending.exit_code)

"""Runs the agent program until it ends or reaches its limit, then ends all its processes.

Owns the agent's run. What the agent reports is only a claim; later stages check the result.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from afresh.adapters.adapter import Launch, Reader, Verdict
from afresh.adapters.registry import adapter_of
from afresh.contract.words import Outcome
from afresh.episode.container.channel import Command, CommandEnd, ContainerGone
from afresh.episode.container.commands import GONE
from afresh.episode.container.lines import LineSink, OutputLine
from afresh.episode.container.questions import (
    DiskQuestion,
    IdleQuestion,
    OutageQuestion,
    TurnsQuestion,
)
from afresh.episode.container.script import Script
from afresh.episode.container.watch import AgentWatch, Question
from afresh.episode.context import AGENT, EpisodeContext
from afresh.episode.gateway.model_faults import provider_fault
from afresh.episode.reporting.usage_updates import reporting_usage
from afresh.episode.state import AgentEnd, SubtaskState, given
from afresh.episode.stopped import SubtaskStopped

# What shells, Python, Node and C programs print at the limit of processes.
NO_PROCESS = re.compile(r"cannot fork|can't start new thread", re.IGNORECASE)
STARTS = re.compile(r"\b(fork|clone|spawn|pthread_create|uv_thread_create)\b", re.IGNORECASE)
TRY_AGAIN = re.compile(r"resource temporarily unavailable|EAGAIN", re.IGNORECASE)
LEFT = "The agent left processes that could not be stopped; read its log with afresh logs."
KILLED = "The agent's container was killed; read the end of its log with afresh logs."
# Such a message is short; a longer line is code, or a file that the agent has read.
COMPLAINT_LENGTH = 500


@dataclass(slots=True)
class Signs:
    """Facts that only the text of the agent's output shows, and not its program's result."""

    no_process: bool = False

    def look_at(self, line: str) -> None:
        """Check one line of output."""
        if self.no_process or len(line) > COMPLAINT_LENGTH:
            return
        no_start = STARTS.search(line) and TRY_AGAIN.search(line)
        self.no_process = bool(NO_PROCESS.search(line) or no_start)


def run(context: EpisodeContext, state: SubtaskState) -> None:
    """Run the program with the gateway open. When this returns, all its processes have ended.

    Raises SubtaskStopped if the container ended before the program began, or if a process of it may
    still run. In the latter case nothing that the agent can write to may be read, since it could
    replace any file with a link to a file of the runner.
    """
    access = given(state.access)
    with state.agent_scope:
        access.open()
        with reporting_usage(context):
            reader = adapter_of(context.order.agent.adapter).reader(
                behind_gateway=bool(access.base_url)
            )
            state.agent_end = _run(context, given(state.launch), reader, state.episode.import_rest)
    if not access.base_url and state.agent_end.verdict.outcome is None:
        context.reporter.update(answered=True)  # only the program itself talks to the provider
    state.episode.session = state.agent_end.session
    context.reporter.update(
        usage=context.meter.usage(),
        not_before=context.meter.not_before,
        fault=provider_fault(context.meter.last_fault),
        log_tail=context.log.tail,
    )


def _run(
    context: EpisodeContext, launch: Launch, reader: Reader, import_rest: Callable[[], None]
) -> AgentEnd:
    signs, turns = Signs(), TurnsQuestion(context, reader)
    agent = context.order.agent
    disk = DiskQuestion(context, agent.disk_bytes) if agent.disk_bytes is not None else None
    idle = IdleQuestion(context, agent.idle_seconds) if agent.idle_seconds is not None else None
    questions: tuple[Question | None, ...] = (disk, OutageQuestion(context), idle, turns)

    def read(line: str) -> str | None:
        said = reader.event(line)
        watch.ask(turns)
        return said

    def started() -> None:
        context.reporter.reached("agentStarted")
        import_rest()

    watch = AgentWatch(context, tuple(filter(None, questions)))
    out = LineSink(_line_handler(context, signs, read))
    err = LineSink(_line_handler(context, signs, reader.error))
    sinks = (idle.hear(out), idle.hear(err)) if idle else (out, err)
    try:
        with watch:
            ending = context.agent_control.run(_command(context, launch), *sinks, started)
    except ContainerGone as gone:
        raise SubtaskStopped(Outcome.INFRASTRUCTURE, GONE) from gone
    if context.meter.first_asked is not None:
        context.reporter.reached("modelAsked", context.meter.first_asked)
    context.reporter.reached("agentEnded")
    cleared = context.agent_control.clear()
    out.end()
    err.end()
    if not cleared:
        context.reporter.update(log_tail=context.log.tail)
        outcome = Outcome.TIMEOUT if ending.timed_out else Outcome.AGENT_ERROR
        raise SubtaskStopped(outcome, LEFT, exit_code=ending.exit_code)
    return AgentEnd(
        # The last line may have shown that the limit of turns is exceeded.
        verdict=watch.verdict or turns.ask() or _verdict(ending, reader.verdict),
        met_process_limit=signs.no_process,
        exit_code=ending.exit_code,
        session=reader.session,
    )


def _command(context: EpisodeContext, launch: Launch) -> Command:
    script = Script(
        argv=launch.argv, paths=context.paths.agent_paths, environment=launch.environment
    ).text()
    limit = context.order.agent.timeout_seconds
    return Command(name=AGENT, script=script, stdin=launch.stdin, limit=limit)


def _line_handler(
    context: EpisodeContext, signs: Signs, read: Callable[[str], str | None]
) -> Callable[[OutputLine], None]:
    def take(line: OutputLine) -> None:
        signs.look_at(line.text)
        for said in (read(line.text) or "").splitlines():
            context.log.agent(said)

    return take


def _verdict(ending: CommandEnd, own: Callable[[int], Verdict]) -> Verdict:
    if ending.timed_out:
        return Verdict(
            outcome=Outcome.TIMEOUT,
            message="The agent did not end within spec.episode.timeoutSeconds; raise that, or make "
            "the subtask smaller.",
        )
    if ending.exit_code is None:
        return Verdict(outcome=Outcome.AGENT_ERROR, message=KILLED)
    return own(ending.exit_code)

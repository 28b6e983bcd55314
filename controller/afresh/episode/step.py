"""Runs one of the user's commands in a container and keeps the end of its output."""

from dataclasses import dataclass

from afresh.contract.order import Step
from afresh.episode.control import Command, ContainerGone, Control
from afresh.episode.lines import Line, LineSink
from afresh.episode.log import Log, Tail
from afresh.episode.paths import Seen
from afresh.episode.script import Script

TIME_LIMIT_CODE = 124
KILLED_CODE = 137


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnd:
    """How a step ended: 0 is good, 124 its time limit, 137 that its container was killed."""

    exit_code: int
    tail: str


def run_step(control: Control, name: str, step: Step, seen: Seen, log: Log) -> StepEnd:
    """Run `step` as the script `name`; print its output as it comes."""
    tail = Tail()

    def take(line: Line) -> None:
        text = log.redact(line.text)
        tail.add(text)
        log.step(name, text)

    out, err = LineSink(take), LineSink(take)
    script = Script(argv=step.command, seen=seen).text()
    command = Command(name=name, script=script, limit=step.timeout_seconds)
    try:
        ending = control.run(command, out, err, lambda: None)
    except ContainerGone:
        return StepEnd(exit_code=KILLED_CODE, tail=str(tail))
    out.end()
    err.end()
    timed_out = ending.timed_out or ending.exit_code is None
    code = TIME_LIMIT_CODE if timed_out else ending.exit_code
    return StepEnd(exit_code=code or 0, tail=str(tail))

"""Runs one of the user's commands in a container and keeps the end of its output."""

from dataclasses import dataclass

from afresh.contract.order import Step
from afresh.contract.words import Outcome
from afresh.episode.container.channel import (
    Channel,
    Command,
    CommandEnd,
    ContainerGone,
    ContainerRefused,
)
from afresh.episode.container.lines import LineSink, OutputLine
from afresh.episode.container.script import Script
from afresh.episode.paths import Seen
from afresh.episode.reporting.log import Log, Tail
from afresh.episode.stopped import SubtaskStopped

TIME_LIMIT_CODE = 124
KILLED_CODE = 137
NO_LIMIT = (
    "The shell of the image can set no process limit; use an image whose /bin/sh is dash, bash "
    "or busybox."
)
GONE = "A container of the pod ended before it was needed; another episode follows by itself."
NOT_FIRST = (
    "The shell is not the first process of its container; let nothing in the cluster add "
    "shareProcessNamespace or a wrapper to the pod."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnd:
    """How a step ended: 0 is good, 124 its time limit, 137 that its container was killed."""

    exit_code: int
    tail: str


def meet(control: Channel) -> None:
    """Wait for a container. Raises SubtaskStopped if nothing can run in it."""
    try:
        control.greet()
    except ContainerRefused as refusal:
        reason = NO_LIMIT if str(refusal) == "pids" else NOT_FIRST
        raise SubtaskStopped(Outcome.CONFIG, reason) from refusal
    except ContainerGone as gone:
        raise SubtaskStopped(Outcome.INFRASTRUCTURE, GONE) from gone


def run_step(
    control: Channel, name: str, step: Step, seen: Seen, log: Log, *, is_emptied: bool = False
) -> StepEnd:
    """Run `step` as the script `name`; print its output as it comes. Raises SubtaskStopped.

    `is_emptied`: HOME, /tmp and /dev/shm are emptied first.
    """
    tail = Tail()

    def take(line: OutputLine) -> None:
        tail.add(line.text)
        log.step(name, line.text)

    out, err = LineSink(take), LineSink(take)
    script = Script(argv=step.command, seen=seen, is_emptied=is_emptied).text()
    command = Command(name=name, script=script, limit=step.timeout_seconds)
    try:
        ending = control.run(command, out, err, lambda: None)
    except ContainerGone as gone:
        raise SubtaskStopped(Outcome.INFRASTRUCTURE, GONE) from gone
    out.end()
    err.end()
    return StepEnd(exit_code=_code(ending), tail=tail.text(log.redact))


def _code(ending: CommandEnd) -> int:
    if ending.timed_out:
        return TIME_LIMIT_CODE
    return KILLED_CODE if ending.exit_code is None else ending.exit_code

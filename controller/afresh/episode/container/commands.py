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
from afresh.episode.paths import ContainerPaths
from afresh.episode.reporting.log import Log, Tail
from afresh.episode.stopped import SubtaskStopped

TIME_LIMIT_CODE = 124
KILLED_CODE = 137
NO_LIMIT = (
    "The shell of the image cannot set a process limit; use an image whose /bin/sh is dash, bash "
    "or busybox."
)
GONE = "A container of the pod ended before it was needed; another episode starts automatically."
NOT_FIRST = (
    "The shell is not the first process of its container; make sure that nothing in the cluster "
    "adds shareProcessNamespace or a wrapper to the pod."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnd:
    """How a step ended: 0 is success, 124 the time limit, 137 that its container was killed."""

    exit_code: int
    tail: str


def await_container(control: Channel) -> None:
    """Wait until a container has started. Raises SubtaskStopped if nothing can run in it."""
    try:
        control.greet()
    except ContainerRefused as refusal:
        reason = NO_LIMIT if str(refusal) == "pids" else NOT_FIRST
        raise SubtaskStopped(Outcome.CONFIG, reason) from refusal
    except ContainerGone as gone:
        raise SubtaskStopped(Outcome.INFRASTRUCTURE, GONE) from gone


def run_step(
    control: Channel,
    name: str,
    step: Step,
    paths: ContainerPaths,
    log: Log,
    *,
    is_emptied: bool = False,
) -> StepEnd:
    """Run `step` as the command `name`, print its output as it arrives, and return its end.

    `is_emptied`: HOME, /tmp and /dev/shm are emptied first. Raises SubtaskStopped if the container
    ended before.
    """
    tail = Tail()

    def take(line: OutputLine) -> None:
        tail.add(line.text)
        log.step(name, line.text)

    out, err = LineSink(take), LineSink(take)
    script = Script(argv=step.command, paths=paths, is_emptied=is_emptied).text()
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

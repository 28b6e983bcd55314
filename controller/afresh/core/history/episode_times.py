"""Splits an episode's duration into phases, from its Job, its pod and its Report.

Kubernetes writes whole seconds of another clock than the runner's, so a difference below zero
counts as zero. Pure.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum

from afresh.contract.pod_layout import RUNNER
from afresh.core.observed import Episode


class EpisodePhase(StrEnum):
    """The parts of an episode's life, in their order.

    `agentImage` is how much longer than the runner's preparations the agent's container took to be
    there; `firstRequest` is from the agent's start to its first request for the model, and `agent`
    the rest of its run.
    """

    QUEUED = "queued"
    SCHEDULED = "scheduled"
    RUNNER_IMAGE = "runnerImage"
    STARTED = "started"
    PREPARED = "prepared"
    AGENT_IMAGE = "agentImage"
    SETUP = "setup"
    FIRST_REQUEST = "firstRequest"
    AGENT = "agent"
    COMMIT = "commit"
    VERIFY = "verify"
    PUSH = "push"
    REPORT = "report"


# What the runner reaches, and the part that ends there.
_ENDS = (
    ("prepared", EpisodePhase.PREPARED),
    ("agentReady", EpisodePhase.AGENT_IMAGE),
    ("agentStarted", EpisodePhase.SETUP),
    ("modelAsked", EpisodePhase.FIRST_REQUEST),
    ("agentEnded", EpisodePhase.AGENT),
    ("committed", EpisodePhase.COMMIT),
    ("verified", EpisodePhase.VERIFY),
    ("pushed", EpisodePhase.PUSH),
    ("reported", EpisodePhase.REPORT),
)
_RUNNER_STARTED = "runnerStarted"
WORK = frozenset(
    {EpisodePhase.SETUP, EpisodePhase.FIRST_REQUEST, EpisodePhase.AGENT, EpisodePhase.VERIFY}
)
# If an episode starts later than this, it waited for something besides the end of the one before.
AT_ONCE = timedelta(seconds=30)


def phase_seconds(episode: Episode) -> dict[EpisodePhase, float]:
    """Return the seconds of each phase that is known.

    Of a batch that did several subtasks the runner tells the times of the last one, and of the last
    push: there the part `prepared` would hold all those before it, and is left out.
    """
    found = dict(_on_the_way(episode))
    report = episode.report
    if report is None or _RUNNER_STARTED not in report.phases:
        return found
    before, is_known = report.phases[_RUNNER_STARTED], len(report.results) <= 1
    for name, phase in _ENDS:
        at = report.phases.get(name)
        if at is None or at < before:  # the push of a subtask before the last one
            continue
        if is_known:
            found[phase] = at - before
        before, is_known = at, True
    return found


def work_and_overhead(episode: Episode) -> tuple[float, float] | None:
    """Return the seconds of setup, agent and acceptance command, and those of everything else.

    Waiting in a queue counts as neither. None where the Report lacks the times, as for a batch.
    """
    parts = phase_seconds(episode)
    if EpisodePhase.PREPARED not in parts or EpisodePhase.REPORT not in parts:
        return None
    work = sum(taken for phase, taken in parts.items() if phase in WORK)
    spent = sum(taken for phase, taken in parts.items() if phase is not EpisodePhase.QUEUED)
    return work, spent - work


def hand_over_seconds(episode: Episode, others: Iterable[Episode]) -> float | None:
    """Return the time from the end of the agent before to the start of this episode's agent.

    None where no episode before ended with a commit, or where this one did not start at once
    thereafter, for then it has waited for a person, a gate or another package as well.
    """
    began = _reached(episode, "agentStarted")
    if began is None:
        return None
    ends = [(end, told) for end, told in map(_end_of_success, others) if end and end <= began]
    if not ends:
        return None
    end, told = max(ends)
    waited = episode.created.timestamp() - told
    return began - end if waited <= AT_ONCE.total_seconds() else None


def _on_the_way(episode: Episode) -> Iterator[tuple[EpisodePhase, float]]:
    """The parts before the runner starts."""
    if not episode.uid or episode.released is None:
        return
    yield EpisodePhase.QUEUED, _between(episode.created, episode.released)
    scheduled = episode.pod.scheduled if episode.pod else None
    if scheduled is None:
        return
    yield EpisodePhase.SCHEDULED, _between(episode.released, scheduled)
    runner = _reached(episode, _RUNNER_STARTED)
    if runner is None:
        return
    whole = max(runner - scheduled.timestamp(), 0.0)
    image = min(_runner_image_seconds(episode), whole)
    if image:
        yield EpisodePhase.RUNNER_IMAGE, image
    yield EpisodePhase.STARTED, whole - image


def _runner_image_seconds(episode: Episode) -> float:
    """From the pod's sandbox to the start of the runner's container: the pull of its image.

    In whole seconds, so that an image that is there takes none.
    """
    runner = episode.pod.container(RUNNER) if episode.pod else None
    if episode.pod is None or episode.pod.sandboxed is None or runner is None:
        return 0.0
    return _between(episode.pod.sandboxed, runner.began) if runner.began else 0.0


def _end_of_success(episode: Episode) -> tuple[float, float]:
    """When the agent ended and when that was reported; zeros unless the episode has a commit."""
    report = episode.report
    done = report is not None and report.final and any(item.commit for item in report.results)
    end = _reached(episode, "agentEnded")
    told = _reached(episode, "reported")
    return (end, told) if done and end is not None and told is not None else (0.0, 0.0)


def _reached(episode: Episode, name: str) -> float | None:
    return episode.report.phases.get(name) if episode.report else None


def _between(start: datetime, end: datetime) -> float:
    return max((end - start).total_seconds(), 0.0)

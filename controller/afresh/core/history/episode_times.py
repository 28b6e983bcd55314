"""Splits an episode's duration into phases, from its Job, its pod and its Report.

Kubernetes writes whole seconds, by another clock than the runner's, so a negative difference counts
as zero. Pure.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum

from afresh.contract.pod_layout import RUNNER
from afresh.core.observed import Episode


class EpisodePhase(StrEnum):
    """The parts of an episode, in their order.

    `agentImage` is the time that the runner, after its own preparations, waited for the agent's
    container; `firstRequest` is the time from the agent's start to its first request to the model,
    and `agent` the rest of its run.
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


# The points that the runner reports, and the part that ends at each.
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
# An episode that starts later than this has waited for more than the end of the previous one.
AT_ONCE = timedelta(seconds=30)


def phase_seconds(episode: Episode) -> dict[EpisodePhase, float]:
    """Return the seconds of each phase that is known.

    For a batch, the runner reports the times of the last subtask and the last push. `prepared` is
    then left out, because it would include all earlier subtasks.
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

    Waiting in a queue counts as neither. Returns None if the Report lacks the times, as for a
    batch.
    """
    parts = phase_seconds(episode)
    if EpisodePhase.PREPARED not in parts or EpisodePhase.REPORT not in parts:
        return None
    work = sum(taken for phase, taken in parts.items() if phase in WORK)
    spent = sum(taken for phase, taken in parts.items() if phase is not EpisodePhase.QUEUED)
    return work, spent - work


def hand_over_seconds(episode: Episode, others: Iterable[Episode]) -> float | None:
    """Return the seconds from the end of the previous agent to the start of this episode's agent.

    Returns None if no earlier episode ended with a commit, or if this one did not start at once
    after it: then it also waited for a person, a gate or another package.
    """
    began = _reached(episode, "agentStarted")
    if began is None:
        return None
    ends = [(end, at) for end, at in map(_end_of_success, others) if end and end <= began]
    if not ends:
        return None
    end, reported = max(ends)
    waited = episode.created.timestamp() - reported
    return began - end if waited <= AT_ONCE.total_seconds() else None


def _on_the_way(episode: Episode) -> Iterator[tuple[EpisodePhase, float]]:
    """Yield the parts before the runner starts."""
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
    """Return the time from the pod's sandbox to the start of the runner: the pull of its image.

    In whole seconds, so that an image that is already on the node takes none.
    """
    runner = episode.pod.container(RUNNER) if episode.pod else None
    if episode.pod is None or episode.pod.sandboxed is None or runner is None:
        return 0.0
    return _between(episode.pod.sandboxed, runner.began) if runner.began else 0.0


def _end_of_success(episode: Episode) -> tuple[float, float]:
    """Return when the agent ended and when that was reported; zeros if there is no commit."""
    report = episode.report
    done = report is not None and report.final and any(item.commit for item in report.results)
    end = _reached(episode, "agentEnded")
    reported = _reached(episode, "reported")
    return (end, reported) if done and end is not None and reported is not None else (0.0, 0.0)


def _reached(episode: Episode, name: str) -> float | None:
    return episode.report.phases.get(name) if episode.report else None


def _between(start: datetime, end: datetime) -> float:
    return max((end - start).total_seconds(), 0.0)

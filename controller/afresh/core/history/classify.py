"""Classifies an episode: computes one verdict from its Job, its pod and its Report.

This module owns the precedence of the evidence. It does not know records and counters:
`contract.outcomes` defines what follows from an outcome.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from afresh.contract.outcomes import TABLE
from afresh.contract.pod_layout import AGENT, RUNNER, VERIFY
from afresh.contract.report import SYNC_ID, Report, Result
from afresh.contract.sentences import with_details
from afresh.contract.stable_words import steady
from afresh.contract.text import one_line
from afresh.contract.words import Outcome
from afresh.core.history.shared_causes import (
    PULL_WAITING,
    Trouble,
    failed_init,
    failed_init_message,
    trouble_at_end,
    trouble_at_start,
    trouble_of_added,
)
from afresh.core.observed import ContainerFacts, ContainerState, Episode, Member, PodFacts

GRACE_PERIOD = timedelta(seconds=10)
ENDED_PHASES = frozenset({"Succeeded", "Failed"})
NODE_LOST_AFTER = GRACE_PERIOD + timedelta(seconds=60)
# A kubelet may report late that it has ended a pod, and the pod's Report has been paid for.
LATE_BY = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The episode has not ended. `problem` is a sentence if something keeps it from starting.

    `later`: it has not reached this subtask yet. `trouble` is the problem if it is a shared cause,
    which affects other packages, too.
    """

    queued: bool = False
    problem: str | None = None
    later: bool = False
    trouble: Trouble | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The episode has ended for its subtask. `result` is the one that the runner reported, if any.

    Not `begun`: it ended before it reached this subtask. `trouble` is the cause if it is a shared
    one, which affects other packages, too.
    """

    outcome: Outcome
    message: str
    result: Result | None = None
    report: Report | None = None
    begun: bool = True
    trouble: Trouble | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """The end of an episode for one subtask, which this decision records."""

    episode: Episode
    member: Member
    ended: Finished


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Facts about an episode's start that its Job and pod do not show.

    `patience`: how long it may take. `problem`: what delayed it when that was last visible.
    """

    patience: timedelta | None = None
    problem: str = ""


NO_START = Start()


Verdict = Running | Finished

# The kubelet's reasons for a container whose program cannot be run.
START_ERROR = "StartError"
# Waiting reasons that last until somebody corrects the cause.
CONFIG_WAITING = frozenset(
    {"InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError"}
)

# A container that the runner has reached runs until the runner ends.
AT_ONCE = timedelta(seconds=5)
UNHEARD_FOR = timedelta(seconds=60)

UNREACHED = "The episode ended before it came to this subtask."


def verdict_of(
    episode: Episode,
    subtask: str,
    *,
    now: datetime,
    recorded: Collection[str] = (),
    start: Start = NO_START,
) -> Verdict:
    """Classify one episode for one of its subtasks. The first conclusive evidence decides.

    A subtask whose commit is on the branch is done, however the episode ended. Of the others, only
    the first was begun, and the end of the episode is classified for that one. `recorded` are the
    subtasks whose end was recorded earlier, because a Report can be lost.
    """
    done = _committed(episode)
    if subtask in done:
        return done[subtask]
    first = next(
        (name for name in episode.subtasks if name not in done and name not in recorded), subtask
    )
    verdict = _judge(episode, first, now, start)
    if subtask == first:
        return verdict
    if isinstance(verdict, Running):
        return replace(verdict, later=True)
    return Finished(
        outcome=Outcome.CANCELLED, message=UNREACHED, report=episode.report, begun=False
    )


def sync_verdict(episode: Episode, *, now: datetime, start: Start = NO_START) -> Verdict:
    """Classify a sync. Its Report has a result for the sync itself only if it failed."""
    report = episode.report
    failed = any(result.id == SYNC_ID for result in report.results) if report else True
    if report and report.episode and report.final and not failed:
        return Finished(outcome=Outcome.SUCCESS, message="", report=report)
    return _judge(episode, SYNC_ID, now, start)


def _committed(episode: Episode) -> dict[str, Finished]:
    report = episode.report
    return {
        result.id: Finished(
            outcome=result.outcome, message=result.message, result=result, report=report
        )
        for result in (report.results if report else ())
        if result.commit
    }


def _judge(episode: Episode, subtask: str, now: datetime, start: Start) -> Verdict:
    # A runner that received SIGTERM does not know why: any other evidence overrides the
    # Infrastructure that it reports.
    reported = _reported(episode, subtask)
    if reported and not _is_infrastructure(reported):
        return reported
    for judge in (_queued, _disrupted, _evicted):
        verdict = judge(episode)
        if verdict:
            return verdict
    verdict = _too_late(episode, start)
    if verdict:
        return verdict
    for verdict in (reported, _killed(episode)):
        if verdict:
            return _unless_requeued(episode, verdict, now)
    for judge in (_stopped_by_added, _cannot_start, _vanished):
        verdict = judge(episode)
        if verdict:
            return verdict
    verdict = _ends_at_once(episode, now) or _lost(episode, now)
    return verdict or _not_started(episode, now, start) or _running(episode)


def _is_infrastructure(verdict: Verdict) -> bool:
    return isinstance(verdict, Finished) and verdict.outcome is Outcome.INFRASTRUCTURE


def _unless_requeued(episode: Episode, verdict: Verdict, now: datetime) -> Verdict:
    """Return the verdict on a stopped runner, or Running while its queue may have stopped it.

    A queue that preempts a Job runs it again later. The watch may show the pod's end before it
    shows that the Job is suspended. If no queue is involved, the Job ends with its pod.
    """
    in_doubt = episode.has_queue and not episode.finished and not episode.deleting
    if in_doubt and _is_infrastructure(verdict) and not _lost(episode, now):
        return Running()
    return verdict


def _reported(episode: Episode, subtask: str) -> Verdict | None:
    report = episode.report
    if report is None or not report.final:
        return None
    if not report.episode:
        return Finished(outcome=Outcome.CONFIG, message=_unread(report), report=report)
    result = next((item for item in report.results if item.id == subtask), None)
    if result is None:
        return _infrastructure(NO_RESULT, report)
    if not TABLE[result.outcome].by_container:
        return Finished(
            outcome=result.outcome,
            message=result.message,
            result=result,
            report=report,
            trouble=trouble_at_end(episode, result.outcome, result.message),
        )
    agent = _container(episode, AGENT)
    runner = _container(episode, RUNNER)
    if agent and agent.reason == "OOMKilled":
        return Finished(
            outcome=Outcome.OUT_OF_MEMORY, message=_OOM_MESSAGE, result=result, report=report
        )
    end_is_observed = _ended(agent) or _ended(runner) or episode.pod is None or episode.finished
    if not end_is_observed:
        return _queued(episode) or Running()
    trouble = trouble_at_end(episode, result.outcome, result.message)
    return Finished(
        outcome=result.outcome,
        message=result.message,
        result=result,
        report=report,
        trouble=trouble,
    )


def _unread(report: Report) -> str:
    """Return the message about a runner whose version differs from the operator's."""
    return with_details(
        "The runner cannot read its Order; set the chart's runner.image to the image of the "
        "operator's version.",
        one_line(report.log_tail),
    )


_OOM_MESSAGE = (
    "The agent used more memory than its limit; raise spec.resources.limits.memory or "
    "make the subtask smaller."
)


LATE = "The agent did not start before its deadline."
NO_NODE = (
    "No node has room for the pod now; if this lasts, lower spec.resources.requests of the package "
    "or its class, or add nodes."
)
NOT_STARTED = "The pod does not start; if this lasts, correct the cause that the details name."
NO_POD = "The Job has no pod; look at the events of the Job."
_ANOTHER = "another episode starts automatically"
NO_RESULT = f"The runner reported nothing about this subtask; {_ANOTHER}."
UNREPORTED = f"The runner ended before it could report; {_ANOTHER}."
POD_DELETED = f"The pod was deleted before it could report; {_ANOTHER}."
NO_REPORT = f"The Job ended without a Report; {_ANOTHER}."
CUT_SHORT = f"The run was stopped before the episode ended; {_ANOTHER}."
NODE_AWAY = f"The node of the pod does not answer; {_ANOTHER}, but look at the node."


_RUNNER_OOM = (
    "The runner ran out of memory while the agent worked; make the agent print less or write "
    "smaller files."
)


def _queued(episode: Episode) -> Verdict | None:
    return Running(queued=True) if episode.suspended else None


def _disrupted(episode: Episode) -> Verdict | None:
    disruption = episode.pod.disruption if episode.pod else None
    if disruption is None and episode.failure != "PodFailurePolicy":
        return None
    if episode.pod and episode.pod.ended_with_run:
        return _infrastructure(CUT_SHORT, episode.report)
    why = f" ({disruption})" if disruption else ""
    return _infrastructure(f"The pod was removed from its node{why}; {_ANOTHER}.", episode.report)


def _evicted(episode: Episode) -> Verdict | None:
    pod = episode.pod
    if pod is None or pod.reason != "Evicted":
        return None
    message = with_details(
        "The pod used more disk than its limit; raise spec.resources.limits.ephemeral-storage or "
        "make the subtask smaller.",
        pod.message,
    )
    return Finished(outcome=Outcome.DISK_FULL, message=message, report=episode.report)


def _killed(episode: Episode) -> Verdict | None:
    agent, runner = _container(episode, AGENT), _container(episode, RUNNER)
    if not _ended(runner):
        return None
    if agent and agent.reason == "OOMKilled":
        return Finished(outcome=Outcome.OUT_OF_MEMORY, message=_OOM_MESSAGE, report=episode.report)
    if agent and agent.reason == START_ERROR:
        return _bad_start(agent)
    if episode.has_begun and runner and runner.reason == "OOMKilled":
        # The agent's load can kill the runner again and again, so retries must be limited.
        return Finished(outcome=Outcome.OUT_OF_MEMORY, message=_RUNNER_OOM, report=episode.report)
    return _infrastructure(UNREPORTED, episode.report)


def _stopped_by_added(episode: Episode) -> Verdict | None:
    container = failed_init(episode)
    if container is None:
        return None
    if container.reason == START_ERROR:
        return _bad_start(container)
    return _never_starts(container, failed_init_message(container))


def _cannot_start(episode: Episode) -> Verdict | None:
    if episode.pod is None or episode.finished:
        return None
    for container in episode.pod.containers:
        if container.reason == START_ERROR:
            return _bad_start(container)
        if container.state is not ContainerState.WAITING:
            continue
        if container.reason in CONFIG_WAITING:
            return _bad_image(container)
    return None


def _ends_at_once(episode: Episode, now: datetime) -> Verdict | None:
    """Whether a container exits at once, as an image for another processor does.

    The runner does not see that, and waits for it.
    """
    if episode.has_reported_agent or not _runs(_container(episode, RUNNER)):
        return None
    for container in filter(None, (_container(episode, name) for name in (AGENT, VERIFY))):
        began, finished = container.began, container.finished
        if not container.exit_code or began is None or finished is None:
            continue
        if finished - began <= AT_ONCE and now - finished >= UNHEARD_FOR:
            return Finished(
                outcome=Outcome.CONFIG,
                message=f"The container {container.name} ends as soon as it starts; use an image "
                "for the processors of the nodes, with a /bin/sh that works.",
            )
    return None


def _bad_start(container: ContainerFacts) -> Finished:
    message = with_details(
        f"The container {container.name} cannot start; use an image with /bin/sh and the programs "
        "that the command needs.",
        container.message,
    )
    return _never_starts(container, message)


def _never_starts(container: ContainerFacts, message: str) -> Finished:
    return Finished(
        outcome=Outcome.CONFIG,
        message=message,
        trouble=trouble_of_added(container.name, message),
    )


def _bad_image(container: ContainerFacts) -> Finished:
    owners = {RUNNER: "the chart's runner.image"}
    owners |= dict.fromkeys((AGENT, VERIFY), "the package or its class")
    owner = owners.get(container.name, "the component that adds the container to pods")
    message = with_details(
        f"The container {container.name} cannot start; correct the image{_named(container)} of "
        f"{owner}.",
        _words(container),
    )
    return _never_starts(container, message)


def _pull(container: ContainerFacts) -> str:
    return with_details(
        f"The image{_named(container)} of the container {container.name} cannot be pulled; check "
        "that its registry answers.",
        _words(container),
    )


def _named(container: ContainerFacts) -> str:
    return f" {container.image}" if container.image else ""


def _words(container: ContainerFacts) -> str:
    return container.message or container.reason


def _too_late(episode: Episode, start: Start) -> Verdict | None:
    if not _past_deadline(episode):
        return None
    if episode.has_begun:
        message = (
            "The episode passed its deadline; raise spec.episode.timeoutSeconds, or make the "
            "subtask smaller."
        )
        return Finished(outcome=Outcome.TIMEOUT, message=message, report=episode.report)
    return _infrastructure(_late_message(episode, start), episode.report)


def _not_started(episode: Episode, now: datetime, start: Start) -> Verdict | None:
    """Whether images and volumes took too long. Waiting for room on a node has no limit."""
    pod = episode.pod
    if start.patience is None or episode.released is None or episode.has_begun:
        return None
    if episode.finished or episode.deleting or (pod and pod.unschedulable):
        return None
    since = max(episode.released, (pod and pod.scheduled) or episode.released)
    if now - since < start.patience:
        return None
    return _infrastructure(_late_message(episode, start), episode.report)


def _late_message(episode: Episode, start: Start) -> str:
    """Return the message with the cause of the delay; without a pod, the cause recorded earlier."""
    pod = episode.pod
    why = (pod and (_no_node(pod) or _waiting(pod))) or _refused(episode) or start.problem
    return f"{LATE} {(why or NO_POD).removeprefix(LATE).strip()}"


def _no_node(pod: PodFacts) -> str | None:
    return with_details(NO_NODE, steady(pod.unschedulable)) if pod.unschedulable else None


def _refused(episode: Episode) -> str | None:
    return with_details(NOT_STARTED, steady(episode.refusal)) if episode.refusal else None


def _past_deadline(episode: Episode) -> bool:
    pod_reason = episode.pod.reason if episode.pod else ""
    return "DeadlineExceeded" in (pod_reason, episode.failure)


def _waiting(pod: PodFacts) -> str | None:
    waiting = (item for item in pod.containers if item.state is ContainerState.WAITING)
    return next((_stuck(item) for item in waiting if _words(item)), None)


def _stuck(container: ContainerFacts) -> str:
    if container.reason in PULL_WAITING:
        return _pull(container)
    return with_details(
        f"The container {container.name} did not start; look at the events of the pod.",
        _words(container),
    )


def _vanished(episode: Episode) -> Verdict | None:
    if not episode.finished or episode.pod:
        return None
    return _infrastructure(POD_DELETED, None)


def _lost(episode: Episode, now: datetime) -> Verdict | None:
    pod = episode.pod
    if episode.finished:
        return _infrastructure(NO_REPORT, episode.report)
    if pod and is_left_by_node(pod, now):
        return _infrastructure(NODE_AWAY, episode.report)
    return None


def is_left_by_node(pod: PodFacts, now: datetime) -> bool:
    """Whether the pod should have ended, but its kubelet has not reported the end for a while."""
    since = pod.deleting_since
    if since and now - since > NODE_LOST_AFTER:
        return True
    late = pod.deadline is not None and now - pod.deadline > LATE_BY
    return late and pod.phase not in ENDED_PHASES


def _running(episode: Episode) -> Running:
    trouble = trouble_at_start(episode)
    if trouble:
        return Running(problem=trouble.message, trouble=trouble)
    if episode.pod is None:
        return Running(problem=_refused(episode))
    return Running(problem=_no_node(episode.pod) or _refused(episode))


def _infrastructure(message: str, report: Report | None) -> Finished:
    return Finished(outcome=Outcome.INFRASTRUCTURE, message=message, report=report)


def _container(episode: Episode, name: str) -> ContainerFacts | None:
    return episode.pod.container(name) if episode.pod else None


def _runs(container: ContainerFacts | None) -> bool:
    return container is not None and container.state is ContainerState.RUNNING


def _ended(container: ContainerFacts | None) -> bool:
    return container is not None and container.state is ContainerState.TERMINATED

"""From what a Job and its pod show to one verdict: every row of the evidence table."""

import pytest

from afresh.contract.words import Outcome
from afresh.core.history.classify import NO_NODE, NOT_STARTED, Finished, Running, Start, verdict_of
from afresh.core.observed import RUN_ENDED, Episode
from tests.make import NOW, make_container, make_episode, make_pod, make_report, seconds

OOM = make_container("agent", "Terminated", reason="OOMKilled", exit_code=0)
RUNNER_ENDED = make_container("runner", "Terminated", exit_code=1)
AGENT_ENDED = make_container("agent", "Terminated", exit_code=1)


def waiting(name: str, reason: str, message: str = "") -> object:
    return make_container(name, "Waiting", reason=reason, message=message)


ENDED = [
    pytest.param(
        make_episode(report=make_report()), Outcome.SUCCESS, id="the runner reports success"
    ),
    pytest.param(
        make_episode(report=make_report(), pod=make_pod(OOM)),
        Outcome.SUCCESS,
        id="success stays success when a child of the agent was killed for memory",
    ),
    pytest.param(
        make_episode(report=make_report(Outcome.AGENT_ERROR), pod=make_pod(OOM)),
        Outcome.OUT_OF_MEMORY,
        id="an agent error is explained by the agent's OOM kill, whatever the exit code",
    ),
    pytest.param(
        make_episode(report=make_report(Outcome.TIMEOUT), pod=make_pod(OOM)),
        Outcome.TIMEOUT,
        id="a timeout comes before an OOM kill",
    ),
    pytest.param(
        make_episode(report=make_report(Outcome.VERIFY_FAILED), pod=make_pod(RUNNER_ENDED)),
        Outcome.VERIFY_FAILED,
        id="a failed verify holds once the runner has ended",
    ),
    pytest.param(
        make_episode(report=make_report(Outcome.AUTH)),
        Outcome.AUTH,
        id="a refused key needs no container's evidence",
    ),
    pytest.param(
        make_episode(report=make_report(subtask="T999"), pod=make_pod(RUNNER_ENDED)),
        Outcome.INFRASTRUCTURE,
        id="a report about another subtask is no result",
    ),
    pytest.param(
        make_episode(failure="PodFailurePolicy", pod=None),
        Outcome.INFRASTRUCTURE,
        id="the Job failed by its disruption policy",
    ),
    pytest.param(
        make_episode(pod=make_pod(disruption="EvictionByEvictionAPI")),
        Outcome.INFRASTRUCTURE,
        id="the pod is the target of a disruption",
    ),
    pytest.param(
        make_episode(pod=make_pod(phase="Failed", reason="Evicted", message="too much disk")),
        Outcome.DISK_FULL,
        id="evicted without a disruption is the agent's own disk use",
    ),
    pytest.param(
        make_episode(
            pod=make_pod(phase="Failed", reason="Evicted", disruption="TerminationByKubelet")
        ),
        Outcome.INFRASTRUCTURE,
        id="evicted with a disruption is the node's trouble",
    ),
    pytest.param(
        make_episode(pod=make_pod(RUNNER_ENDED, OOM)),
        Outcome.OUT_OF_MEMORY,
        id="no report and the agent was killed for memory",
    ),
    pytest.param(
        make_episode(
            pod=make_pod(make_container("runner", "Terminated", reason="OOMKilled", exit_code=137))
        ),
        Outcome.OUT_OF_MEMORY,
        id="the runner ran out of memory while the agent worked",
    ),
    pytest.param(
        make_episode(report=make_report(final=False), pod=make_pod(RUNNER_ENDED)),
        Outcome.SUCCESS,
        id="a commit in a provisional report is on the branch",
    ),
    pytest.param(
        make_episode(report=make_report(final=False, results=()), pod=make_pod(RUNNER_ENDED)),
        Outcome.INFRASTRUCTURE,
        id="the runner was killed after a provisional report",
    ),
    pytest.param(
        make_episode(pod=make_pod(waiting("agent", "InvalidImageName"))),
        Outcome.CONFIG,
        id="the image's name is no name",
    ),
    pytest.param(
        make_episode(pod=make_pod(waiting("agent", "ErrImageNeverPull", "not present"))),
        Outcome.CONFIG,
        id="the image may not be pulled",
    ),
    pytest.param(
        make_episode(pod=make_pod(make_container("agent", "Terminated", reason="StartError"))),
        Outcome.CONFIG,
        id="the container's command is missing",
    ),
    pytest.param(
        make_episode(pod=make_pod(RUNNER_ENDED, AGENT_ENDED, reason="DeadlineExceeded")),
        Outcome.TIMEOUT,
        id="the pod's deadline after the agent was seen running",
    ),
    pytest.param(
        make_episode(pod=make_pod(deadline=NOW - seconds(301))),
        Outcome.INFRASTRUCTURE,
        id="a node that does not end a pod whose deadline has passed",
    ),
    pytest.param(
        make_episode(
            report=make_report(Outcome.INFRASTRUCTURE),
            pod=make_pod(RUNNER_ENDED, AGENT_ENDED, reason="DeadlineExceeded"),
        ),
        Outcome.TIMEOUT,
        id="a runner that was told to stop cannot know that it was the deadline",
    ),
    pytest.param(
        make_episode(
            report=make_report(Outcome.INFRASTRUCTURE),
            pod=make_pod(RUNNER_ENDED, phase="Failed", reason="Evicted"),
        ),
        Outcome.DISK_FULL,
        id="a runner that was told to stop cannot know that it was the disk",
    ),
    pytest.param(
        make_episode(report=make_report(Outcome.INFRASTRUCTURE), pod=make_pod(RUNNER_ENDED)),
        Outcome.INFRASTRUCTURE,
        id="a runner that was told to stop, and nothing says why",
    ),
    pytest.param(
        make_episode(
            failure="DeadlineExceeded", pod=make_pod(waiting("agent", "ContainerCreating"))
        ),
        Outcome.INFRASTRUCTURE,
        id="the Job's deadline before the agent ran",
    ),
    pytest.param(
        make_episode(failure="BackoffLimitExceeded", pod=None),
        Outcome.INFRASTRUCTURE,
        id="the pod was deleted by hand",
    ),
    pytest.param(
        make_episode(pod=make_pod(deleting_since=NOW - seconds(71))),
        Outcome.INFRASTRUCTURE,
        id="the node does not answer",
    ),
    pytest.param(
        make_episode(complete=True, pod=make_pod(phase="Succeeded")),
        Outcome.INFRASTRUCTURE,
        id="a Job that completed without a report never means success",
    ),
]


@pytest.mark.parametrize(("episode", "want"), ENDED)
def test_an_ended_episode_gets_the_outcome_of_its_first_evidence(
    episode: Episode, want: Outcome
) -> None:
    verdict = verdict_of(episode, "T001", now=NOW)

    assert isinstance(verdict, Finished)
    assert verdict.outcome is want
    assert verdict.message


LIVE = [
    pytest.param(make_episode(), Running(), id="everything runs"),
    pytest.param(make_episode(pod=None), Running(), id="no pod yet"),
    pytest.param(
        make_episode(pod=None, refusal="odd"),
        Running(problem=f"{NOT_STARTED} Details: odd"),
        id="no pod, and an Event says why",
    ),
    pytest.param(
        make_episode(suspended=True, pod=None), Running(queued=True), id="held by its queue"
    ),
    pytest.param(
        make_episode(pod=make_pod(phase="Pending", unschedulable="no node")),
        Running(problem=f"{NO_NODE} Details: no node"),
        id="no node has room",
    ),
    pytest.param(
        make_episode(report=make_report(Outcome.AGENT_ERROR)),
        Running(),
        id="a hint that a container's end may still explain better",
    ),
    pytest.param(
        make_episode(report=make_report(final=False, results=())),
        Running(),
        id="a provisional report",
    ),
    pytest.param(
        make_episode(pod=make_pod(deleting_since=NOW - seconds(5))),
        Running(),
        id="within the grace period of a deletion",
    ),
]


@pytest.mark.parametrize(("episode", "want"), LIVE)
def test_an_episode_without_an_end_is_live(episode: Episode, want: Running) -> None:
    assert verdict_of(episode, "T001", now=NOW) == want


PULLED = [
    pytest.param("ErrImagePull", "example.com/a:1: not found", "Config", id="no such image"),
    pytest.param("ImagePullBackOff", "Back-off: denied", "Config", id="no right to pull"),
    pytest.param(
        "ErrImagePull", "dial tcp: i/o timeout", "ImageNotPulled", id="no answer of the registry"
    ),
]


@pytest.mark.parametrize(("reason", "text", "want"), PULLED)
def test_an_episode_whose_image_cannot_be_pulled_waits_for_the_kubelets_next_try(
    reason: str, text: str, want: str
) -> None:
    agent = make_container("agent", "Waiting", reason=reason, message=text, image="example.com/a:1")

    verdict = verdict_of(make_episode(pod=make_pod(agent)), "T001", now=NOW)

    assert isinstance(verdict, Running)
    assert verdict.trouble is not None
    assert (verdict.trouble.cause, verdict.trouble.subject) == ("ImagePull", "example.com/a:1")
    assert verdict.trouble.reason == want
    assert verdict.trouble.message.startswith("Correct the image example.com/a:1")
    assert text in verdict.trouble.message


START = Start(patience=seconds(900), problem="secret git not found")
WAITS = make_container("agent", "Waiting", reason="ErrImagePull", message="no route")
LATE = {"released": NOW - seconds(900)}
SLOW = [
    pytest.param(make_episode(pod=make_pod(WAITS), **LATE), "no route", id="an image"),
    pytest.param(make_episode(pod=None, refusal="exceeded quota", **LATE), "exceeded quota",
                 id="no pod, and an Event says why"),
    pytest.param(make_episode(pod=None, **LATE), "secret git not found",
                 id="what was seen before the pod had gone"),
    pytest.param(make_episode(failure="DeadlineExceeded", pod=None), "secret git not found",
                 id="the Job's deadline, and what was seen before"),
]  # fmt: skip


@pytest.mark.parametrize(("episode", "want"), SLOW)
def test_an_agent_that_does_not_start_in_time_ends_with_the_last_problem_that_was_seen(
    episode: Episode, want: str
) -> None:
    verdict = verdict_of(episode, "T001", now=NOW, start=START)

    assert isinstance(verdict, Finished)
    assert verdict.outcome is Outcome.INFRASTRUCTURE
    assert want in verdict.message


PATIENT = [
    pytest.param(make_episode(pod=make_pod(WAITS), released=NOW - seconds(899)), id="not yet"),
    pytest.param(make_episode(pod=make_pod(phase="Pending", unschedulable="full"), **LATE),
                 id="no room on a node, which an autoscaler may bring"),
    pytest.param(make_episode(pod=None, suspended=True, released=None), id="held by its queue"),
    pytest.param(make_episode(**LATE), id="the agent works"),
]  # fmt: skip


@pytest.mark.parametrize("episode", PATIENT)
def test_an_episode_that_may_take_longer_to_start_goes_on(episode: Episode) -> None:
    assert isinstance(verdict_of(episode, "T001", now=NOW, start=START), Running)


def test_episode_that_was_cut_short_with_its_run_is_tried_again_and_no_node_is_named():
    stopped = make_report(Outcome.INFRASTRUCTURE)
    episode = make_episode(report=stopped, pod=make_pod(RUNNER_ENDED, disruption=RUN_ENDED))

    verdict = verdict_of(episode, "T001", now=NOW)

    assert isinstance(verdict, Finished)
    assert verdict.outcome is Outcome.INFRASTRUCTURE
    assert verdict.message == (
        "The run was stopped before the episode ended; another episode starts automatically."
    )
    assert verdict.report is stopped


def test_episode_that_ended_well_before_its_run_was_stopped_is_a_success():
    episode = make_episode(report=make_report(), pod=make_pod(disruption=RUN_ENDED))

    verdict = verdict_of(episode, "T001", now=NOW)

    assert isinstance(verdict, Finished)
    assert verdict.outcome is Outcome.SUCCESS

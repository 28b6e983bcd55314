"""When an agent may have begun: until then nothing was paid, and an edit replaces the Job."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afresh.contract.report import Result, Usage
from afresh.contract.words import Outcome
from afresh.core.decision import DeleteJob
from afresh.core.history.classify import Finished, Start, verdict_of
from afresh.core.history.shared_causes import Stage, stage_of, trouble_at_start
from afresh.core.observed import ContainerFacts, Episode
from afresh.core.planner import decide
from tests.make import (
    NOW,
    make_container,
    make_entry,
    make_episode,
    make_package,
    make_pod,
    make_record,
    make_report,
    make_seen,
    seconds,
)

IMAGE = "example.com/verify:1"
START = Start(patience=seconds(900))
LATE = {"released": NOW - seconds(900)}
STARTED = {"runnerStarted": 1.0, "prepared": 2.0}


def pulling(name: str) -> ContainerFacts:
    return make_container(name, "Waiting", reason="ErrImagePull", message="not found", image=IMAGE)


def lost(name: str) -> ContainerFacts:
    """What the kubelet makes of a container of an ended pod that it does not know."""
    return make_container(
        name, "Terminated", started=False, reason="ContainerStatusUnknown", exit_code=137
    )


def ended(name: str, lived: float = 1, ago: float = 61, **fields: Any) -> ContainerFacts:
    finished = NOW - seconds(ago)
    return make_container(
        name,
        "Terminated",
        **{"exit_code": 255, "began": finished - seconds(lived), "finished": finished, **fields},
    )


def provisional(**fields: Any) -> dict[str, Any]:
    values = {"final": False, "results": (), "usage": Usage(), "phases": STARTED, **fields}
    return {"report": make_report(**values)}


STOPPED = provisional(
    final=True, results=(Result(id="T001", outcome=Outcome.INFRASTRUCTURE, message="Stopped."),)
)
BEGUN = [
    pytest.param({}, True, id="both containers run"),
    pytest.param({"pod": None}, False, id="there is no pod"),
    pytest.param({"pod": make_pod(pulling("agent"))}, False, id="the agent's image is missing"),
    pytest.param({"pod": make_pod(pulling("verify"))}, False, id="verify's image is missing"),
    pytest.param({"pod": make_pod(lost("verify"))}, False, id="verify never started"),
    pytest.param({"pod": make_pod(ended("verify"))}, True, id="verify has ended"),
    pytest.param({"pod": make_pod(pulling("verify")), **provisional()}, False,
                 id="the runner tells of no agent"),
    pytest.param({"pod": make_pod(pulling("verify")), **STOPPED}, False,
                 id="the runner was stopped before"),
    pytest.param({"pod": make_pod(pulling("verify")),
                  **provisional(phases={**STARTED, "agentStarted": 3.0})}, True,
                 id="the runner tells that it has begun, though the kubelet is behind"),
    pytest.param({"pod": None, **provisional(usage=Usage(turns=1))}, True, id="the model was paid"),
    pytest.param({"pod": None, "report": make_report(phases={})}, True, id="its work is there"),
    pytest.param({"pod": None, "report": make_report(Outcome.AGENT_ERROR, phases={},
                                                     usage=Usage())}, True,
                 id="a result of a Report whose phases were cut"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "want"), BEGUN)
def test_an_agent_may_have_begun_once_verify_is_there_too_or_the_runner_says_so(
    fields: dict[str, Any], want: bool
) -> None:
    assert make_episode(**fields).has_begun is want


names = st.sampled_from(["runner", "agent", "verify", "istio-proxy"])
kinds = st.sampled_from([make_container, pulling, lost, ended])
pods = st.lists(st.tuples(names, kinds), unique_by=lambda item: item[0]).map(
    lambda drawn: make_pod(*(make(name) for name, make in drawn))
)


@given(pods, st.sampled_from([{}, provisional(), STOPPED]))
def test_no_job_of_which_an_image_is_missing_outlives_an_edit_that_concerns_it(
    pod: Any, values: dict[str, Any]
) -> None:
    episode = make_episode("A", pod=pod, generations="1/0", inputs="before", **values)
    needed = [pod.container(name) for name in ("agent", "verify")]
    if all(item.started for item in needed) or episode.has_reported_agent:
        assert episode.has_begun
        return

    assert not episode.has_begun
    if not isinstance(verdict_of(episode, "A", now=NOW), Finished):
        assert is_replaced(episode)


def is_replaced(episode: Episode) -> bool:
    package = make_package([make_entry("A")])
    record = make_record("A", phase="Running", attempts=1, reason="EpisodeRunning")
    decision = decide(make_seen(package, [record], episodes=(episode,)))
    (after,) = decision.records
    assert not [item for item in decision.actions if isinstance(item, DeleteJob)]
    return after.reason == "Cancelled"


@pytest.mark.parametrize("name", ["runner", "agent", "verify", "istio-proxy", "istio-init"])
def test_a_missing_image_of_any_container_is_the_cause_and_keeps_its_gate_closed(
    name: str,
) -> None:
    episode = make_episode(pod=make_pod(pulling(name)))

    trouble = trouble_at_start(episode)

    assert trouble is not None
    assert trouble.cause == "ImagePull"
    assert stage_of(episode) < Stage.STARTED


def test_the_pod_of_a_deleted_job_does_not_pass_for_one_that_has_started() -> None:
    assert stage_of(make_episode(pod=make_pod(lost("verify")))) < Stage.STARTED


@pytest.mark.parametrize("name", ["agent", "verify"])
def test_a_container_that_is_missing_for_too_long_ends_an_episode_that_nobody_paid(
    name: str,
) -> None:
    verdict = verdict_of(make_episode(pod=make_pod(pulling(name)), **LATE), "T001", now=NOW,
                         start=START)  # fmt: skip

    assert isinstance(verdict, Finished)
    assert verdict.outcome is Outcome.INFRASTRUCTURE
    assert IMAGE in verdict.message


def test_a_pod_has_the_same_time_to_start_however_long_it_has_waited_for_a_node() -> None:
    pod = make_pod(pulling("verify"), scheduled=NOW - seconds(10))

    verdict = verdict_of(make_episode(pod=pod, **LATE), "T001", now=NOW, start=START)

    assert not isinstance(verdict, Finished)


UNPAID = [
    pytest.param({"reason": "DeadlineExceeded"}, {}, id="the pod's deadline"),
    pytest.param({"reason": "DeadlineExceeded"}, STOPPED,
                 id="the pod's deadline, and the runner was told to stop"),
]  # fmt: skip


@pytest.mark.parametrize(("pod", "values"), UNPAID)
def test_a_deadline_that_passes_before_verify_is_there_is_not_the_agents_failure(
    pod: dict[str, Any], values: dict[str, Any]
) -> None:
    runner = make_container("runner", "Terminated", exit_code=1)
    episode = make_episode(pod=make_pod(runner, pulling("verify"), **pod), **values)

    verdict = verdict_of(episode, "T001", now=NOW)

    assert isinstance(verdict, Finished)
    assert verdict.outcome is Outcome.INFRASTRUCTURE


def test_a_runner_that_runs_out_of_memory_before_the_agent_began_is_not_the_agents_failure() -> (
    None
):
    runner = make_container("runner", "Terminated", reason="OOMKilled", exit_code=137)

    verdict = verdict_of(make_episode(pod=make_pod(runner, pulling("verify"))), "T001", now=NOW)

    assert isinstance(verdict, Finished)
    assert verdict.outcome is Outcome.INFRASTRUCTURE


WORKS = provisional(phases={**STARTED, "agentStarted": 3.0})
UNHEARD = [
    pytest.param(make_pod(ended("verify")), {}, "Config", id="verify's shell cannot run"),
    pytest.param(make_pod(ended("agent")), {}, "Config", id="the agent's shell cannot run"),
    pytest.param(make_pod(ended("verify", ago=59)), {}, None, id="the runner may be about to end"),
    pytest.param(make_pod(ended("verify", lived=6)), {}, None, id="it has lived for a while"),
    pytest.param(make_pod(ended("verify", exit_code=0)), {}, None, id="it ended well"),
    pytest.param(make_pod(ended("verify")), WORKS, None, id="the agent works"),
]  # fmt: skip


@pytest.mark.parametrize(("pod", "values", "want"), UNHEARD)
def test_an_image_whose_shell_ends_at_once_is_named_and_not_waited_for(
    pod: Any, values: dict[str, Any], want: str | None
) -> None:
    verdict = verdict_of(make_episode(pod=pod, **values), "T001", now=NOW)

    assert (verdict.outcome if isinstance(verdict, Finished) else None) == want
    if isinstance(verdict, Finished):
        assert "/bin/sh" in verdict.message


def test_a_job_that_was_replaced_before_verify_was_there_counts_as_no_episode() -> None:
    record = make_record(
        "A", phase="Running", attempts=1, reason="Cancelled",
        message="The package or its class was edited before its agent started.",
    )  # fmt: skip
    runner = make_container("runner", "Terminated", exit_code=1)
    gone = make_episode(
        "A", complete=False, failure="BackoffLimitExceeded",
        pod=make_pod(runner, ended("agent"), lost("verify")),
        **provisional(
            final=True, results=(Result(id="A", outcome=Outcome.INFRASTRUCTURE, message="So."),)
        ),
    )  # fmt: skip
    seen = make_seen(make_package([make_entry("A")]), [record], episodes=(gone,))

    decision = decide(seen)

    assert decision.usage.episodes == 0
    paid = replace(gone, **WORKS)
    assert decide(replace(seen, episodes=(paid,))).usage.episodes == 1

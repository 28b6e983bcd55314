"""Which Jobs are deleted: never one whose end is not written down yet."""

from dataclasses import replace
from datetime import datetime

import pytest

from afresh.api.phases import SubtaskPhase
from afresh.core.decision import DeleteJob
from afresh.core.observed import PodFacts
from afresh.core.planner import decide
from tests.make import (
    NOW,
    make_container,
    make_episode,
    make_package,
    make_pod,
    make_record,
    make_seen,
    seconds,
)

DONE = SubtaskPhase.DONE


def running() -> object:
    return make_record(phase=SubtaskPhase.RUNNING, attempts=1, reason="EpisodeRunning")


def test_a_deleted_package_stops_the_episode_that_runs() -> None:
    package = make_package(metadata={"deletionTimestamp": "2030-01-02T03:04:00Z"})

    decision = decide(make_seen(package, [running()], episodes=(make_episode(),)))

    assert decision.actions == (DeleteJob(name="token-auth-t001-1-abc", uid="job-T001-1"),)


def test_an_episode_that_hangs_is_deleted_once_its_end_is_recorded() -> None:
    record = make_record(attempts=1, reason="Config", not_before=NOW + seconds(9))
    stuck = make_pod(make_container("agent", "Waiting", reason="InvalidImageName"))

    decision = decide(make_seen(records=[record], episodes=(make_episode(pod=stuck),)))

    assert DeleteJob(name="token-auth-t001-1-abc", uid="job-T001-1") in decision.actions


def test_an_episode_whose_node_does_not_end_it_is_deleted_once_that_is_recorded() -> None:
    record = make_record(attempts=1, reason="Infrastructure", not_before=NOW + seconds(9))
    pod = make_pod(deadline=NOW - seconds(301))

    decision = decide(make_seen(records=[record], episodes=(make_episode(pod=pod),)))

    assert DeleteJob(name="token-auth-t001-1-abc", uid="job-T001-1") in decision.actions


def test_an_episode_whose_agent_could_not_be_started_is_deleted_once_that_is_recorded() -> None:
    record = make_record(attempts=1, reason="Config", not_before=NOW + seconds(9))
    pod = make_pod(make_container("agent", "Terminated", reason="StartError"))

    decision = decide(make_seen(records=[record], episodes=(make_episode(pod=pod),)))

    assert DeleteJob(name="token-auth-t001-1-abc", uid="job-T001-1") in decision.actions


def test_an_episode_is_not_deleted_in_the_step_that_first_records_its_end() -> None:
    stuck = make_episode(failure="PodFailurePolicy", pod=None)

    decision = decide(make_seen(records=[running()], episodes=(stuck,)))

    assert not [item for item in decision.actions if isinstance(item, DeleteJob)]


def test_an_episode_that_was_recorded_by_its_hint_ends_by_itself() -> None:
    record = make_record(attempts=1, phase=DONE)

    decision = decide(make_seen(records=[record], episodes=(make_episode(),)))

    assert not decision.actions


@pytest.mark.parametrize("released", [NOW - seconds(9), None], ids=["taken back", "given anew"])
def test_a_job_that_its_queue_would_run_again_is_deleted_once_its_end_is_recorded(
    released: datetime | None,
) -> None:
    record = make_record(attempts=1, phase=DONE)
    episode = make_episode(suspended=released is not None, released=released, pod=None)
    ended = replace(episode, complete=True)

    decision = decide(make_seen(records=[record], episodes=(episode,)))
    kept = decide(make_seen(records=[record], episodes=(ended,)))

    assert decision.actions == (DeleteJob(name="token-auth-t001-1-abc", uid="job-T001-1"),)
    assert kept.actions == ()


@pytest.mark.parametrize(
    "pod", [None, make_pod(deleting_since=NOW - seconds(1))], ids=["gone", "going"]
)
def test_a_job_of_a_queue_is_deleted_once_its_pod_is_taken_away_and_its_end_is_recorded(
    pod: PodFacts | None,
) -> None:
    record = make_record(attempts=1, phase=DONE)
    episode = make_episode(has_queue=True, created=NOW - seconds(2), pod=pod)

    decision = decide(make_seen(records=[record], episodes=(episode,)))

    assert decision.actions == (DeleteJob(name="token-auth-t001-1-abc", uid="job-T001-1"),)


def test_an_agent_left_behind_by_its_runner_is_deleted_once_the_end_is_recorded() -> None:
    ended = make_container("runner", "Terminated", finished=NOW - seconds(20))
    just_ended = make_container("runner", "Terminated", finished=NOW - seconds(2))
    record = make_record(attempts=1, phase=DONE)

    late, soon = (
        decide(make_seen(records=[record], episodes=(make_episode(pod=make_pod(runner)),)))
        for runner in (ended, just_ended)
    )

    assert late.actions == (DeleteJob(name="token-auth-t001-1-abc", uid="job-T001-1"),)
    assert soon.actions == ()


def test_a_container_that_runs_on_is_looked_at_again_whatever_happens_meanwhile() -> None:
    """Such as the proxy of a service mesh: nothing tells that it did not end."""
    ended = make_container("runner", "Terminated", finished=NOW - seconds(2))
    proxy = make_container("mesh-proxy", "Running")
    going_on = make_episode(pod=make_pod(ended, proxy))
    record = make_record(attempts=1, phase=DONE)

    early = decide(make_seen(records=[record], episodes=(going_on,)))
    gone = decide(make_seen(records=[record], episodes=(replace(going_on, complete=True),)))

    assert early.actions == ()
    assert early.recheck_after == seconds(15)
    assert gone.recheck_after is None


def test_the_jobs_of_a_removed_subtask_are_deleted() -> None:
    decision = decide(make_seen(episodes=(make_episode("T009"),)))

    assert DeleteJob(name="token-auth-t009-1-abc", uid="job-T009-1") in decision.actions


def test_a_job_that_has_ended_is_kept_whatever_its_pod_still_shows() -> None:
    runner = make_container("runner", "Terminated", finished=NOW - seconds(60))
    ended = make_episode(complete=True, pod=make_pod(runner))

    decision = decide(make_seen(records=[make_record(phase=DONE, attempts=1)], episodes=(ended,)))

    assert [item for item in decision.actions if isinstance(item, DeleteJob)] == []

"""What a user asks of a running package: the intent is written down first, then the Job goes."""

from dataclasses import replace
from typing import Any

import pytest

from afresh.api.phases import SubtaskPhase
from afresh.api.work_package import WorkPackage
from afresh.contract.words import Outcome
from afresh.core.decision import Decision, DeleteJob
from afresh.core.observed import Observed
from afresh.core.planner import decide
from afresh.core.status import package_status
from tests.make import (
    NOW,
    make_batch,
    make_entry,
    make_episode,
    make_package,
    make_pod,
    make_record,
    make_report,
    make_seen,
    make_sync,
    seconds,
    starts_of,
)

RUNNING, QUEUED, DONE = SubtaskPhase.RUNNING, SubtaskPhase.QUEUED, SubtaskPhase.DONE
CANCEL, RETRY = "afresh.dev/cancel-requested-at", "afresh.dev/retry-requested-at"


def at_work(ids: str, first: Any = RUNNING) -> list[Any]:
    """Records of a batch at work on its first subtask."""
    return [
        make_record(name, phase=QUEUED if n else first, attempts=1, reason="EpisodeRunning")
        for n, name in enumerate(ids)
    ]


def next_of(seen: Observed, decision: Decision, **changes: Any) -> Observed:
    """What is observed once the decision's status is written."""
    package = seen.package.model_copy(update={"status": package_status(seen, decision)})
    return replace(seen, package=package, **changes)


def deleted(decision: Decision) -> list[str]:
    return [item.name for item in decision.actions if isinstance(item, DeleteJob)]


def asking(ids: str = "A", annotation: str = "", **entry: Any) -> WorkPackage:
    """A package with an annotation, and with changes to its first subtask."""
    entries = [make_entry(name, **(entry if name == ids[0] else {})) for name in ids]
    notes = {"annotations": {annotation: "now"}} if annotation else {}
    return make_package(entries, metadata=notes)


STOPS = [
    pytest.param(asking("AB", CANCEL), "AB", {}, ["[~]", "[ ]"], id="the user cancels"),
    pytest.param(asking("AB", skip=True), "AB", {}, ["[S]", "[~]"], id="the user skips it"),
    pytest.param(asking("AB", revision=1), "AB", {}, ["[~]", "[ ]"],
                 id="its revision is raised"),
    pytest.param(asking("BA", skip=True), "AB", {}, ["[S]", "[~]"],
                 id="another one of its batch is skipped"),
    pytest.param(asking("BA", revision=1), "AB", {}, ["[~]", "[ ]"],
                 id="the revision of another one of its batch is raised"),
    pytest.param(asking("A"), "AB", {}, ["[~]"], id="another one of its batch is removed"),
    pytest.param(asking("AB"), "AB", {"suspended": True, "pod": None, "generations": "0/1"},
                 ["[~]", "[ ]"], id="the package is edited while its Job is queued"),
]  # fmt: skip


@pytest.mark.parametrize(("package", "batch", "episode", "want_markers"), STOPS)
def test_an_episode_is_stopped_in_the_step_after_its_end_was_announced(
    package: WorkPackage, batch: str, episode: dict[str, Any], want_markers: list[str]
) -> None:
    status = package.status.model_copy(
        update={"subtasks": tuple(at_work(batch)), "observed_generation": 1}
    )
    live = make_batch(*batch, **episode)
    seen = make_seen(package.model_copy(update={"status": status}), episodes=(live,))

    first = decide(seen)
    second = decide(next_of(seen, first))
    gone = next_of(seen, first, episodes=())
    third = decide(gone)

    assert (deleted(first), starts_of(first)) == ([], [])
    wanted = [entry.id for entry in package.spec.subtasks]
    assert {r.reason for r in first.records if r.id in wanted} == {"Cancelled"}
    assert (deleted(second), starts_of(second)) == ([live.name], [])
    assert {item.ended.outcome for item in third.attempt_results} == {Outcome.CANCELLED}
    ends = [record for record in third.records if record.id in wanted]
    assert [record.marker for record in ends] == want_markers
    assert all(record.consecutive_failures == 0 for record in ends)


def test_a_cancelled_episode_that_had_committed_is_done_all_the_same() -> None:
    stopping = make_record("A", phase=RUNNING, attempts=1, reason="Cancelled", message="Asked.")
    ended = make_episode("A", report=make_report(subtask="A"), deleting=True)

    decision = decide(make_seen(make_package([make_entry("A")]), [stopping], episodes=(ended,)))

    assert [record.marker for record in decision.records] == ["[x]"]


def test_a_cancelled_job_is_waited_for_until_its_pod_has_ended() -> None:
    stopping = make_record("A", phase=RUNNING, attempts=1, reason="Cancelled", message="Asked.")
    ending = make_episode("A", deleting=True, pod=make_pod(deleting_since=NOW - seconds(3)))

    decision = decide(make_seen(make_package([make_entry("A")]), [stopping], episodes=(ending,)))

    assert (decision.attempt_results, starts_of(decision), deleted(decision)) == ((), [], [])
    assert "being stopped" in decision.message


def test_a_request_to_cancel_is_answered_once() -> None:
    package = asking("A", CANCEL)
    seen = make_seen(package, at_work("A"), episodes=(make_episode("A"),))
    first = decide(seen)
    later = next_of(seen, first, episodes=())
    again = next_of(later, decide(later), episodes=(make_episode("A", attempt=2),))

    assert package_status(seen, first).last_handled_cancel == "now"
    assert deleted(decide(again)) == []
    assert [record.reason for record in decide(again).records] == ["EpisodeRunning"]


def test_a_cancelled_queued_job_counts_as_no_episode() -> None:
    stopping = make_record("A", phase=QUEUED, attempts=1, reason="Cancelled", message="Asked.")

    decision = decide(make_seen(make_package([make_entry("A")]), [stopping]))

    assert decision.usage.episodes == 0
    assert starts_of(decision) == ["A"]


def test_a_vanished_batch_counts_as_one_episode() -> None:
    package = make_package([make_entry(name) for name in "ABC"])

    decision = decide(make_seen(package, at_work("ABC")))

    assert (decision.usage.episodes, decision.usage.transient_retries) == (0, 1)


RETRIES = [
    pytest.param({"reason": "Infrastructure"}, id="one that backs off"),
    pytest.param({"reason": "Auth", "message": "bad key"}, id="one that waits for its probe"),
]


@pytest.mark.parametrize("record", RETRIES)
def test_a_request_to_retry_ends_every_wait_once(record: dict[str, Any]) -> None:
    waits = make_record("A", not_before=NOW + seconds(200), transient_retries=7, **record)
    seen = make_seen(asking("A", RETRY), [waits])

    decision = decide(seen)

    assert starts_of(decision) == ["A"]
    answered = next_of(seen, decision, episodes=())
    assert answered.package.status.last_handled_retry == "now"
    kept = answered.package.status.model_copy(update={"subtasks": (waits,)})
    again = replace(answered, package=answered.package.model_copy(update={"status": kept}))
    assert starts_of(decide(again)) == []


def test_a_queued_job_of_the_present_package_and_class_stays() -> None:
    live = make_episode("A", suspended=True, pod=None, generations="1/1")
    package = make_package([make_entry("A")])

    decision = decide(make_seen(package, at_work("A", QUEUED), episodes=(live,)))

    assert (decision.phase, deleted(decision)) == ("Queued", [])
    assert [record.reason for record in decision.records] == ["EpisodeQueued"]


def test_a_sync_that_hangs_is_deleted_once_its_end_is_recorded() -> None:
    waiting = make_sync(1, pod=None)
    package = make_package(status={"planSync": {"attempts": 1, "failures": 1}})

    over, live = (
        decide(make_seen(item, [make_record()], episodes=(waiting,)))
        for item in (package, make_package())
    )

    assert deleted(over) == [waiting.name]
    assert deleted(live) == []

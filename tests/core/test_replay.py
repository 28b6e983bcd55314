"""What an outcome does to the record: phase, counters and waits, row by row of the table."""

from typing import Any

import pytest

from afresh.api.phases import SubtaskPhase
from afresh.contract.outcomes import PRECEDENCE, TABLE, NextStep, backoff_after, probe_after
from afresh.contract.report import Usage
from afresh.contract.words import Marker, Outcome
from afresh.core.decision import StartEpisode
from afresh.core.history.classify import Finished
from afresh.core.history.replay import replay
from afresh.core.history.transitions import after
from afresh.core.planner import decide
from tests.make import (
    NOW,
    make_entry,
    make_episode,
    make_package,
    make_record,
    make_report,
    make_seen,
    seconds,
)

RUNNING = SubtaskPhase.RUNNING
COUNTED = [outcome for outcome in Outcome if TABLE[outcome].counts]
UNCOUNTED = [outcome for outcome in Outcome if not TABLE[outcome].counts]


def ended(outcome: Outcome, **report: Any) -> Finished:
    given_report = make_report(outcome, **report)
    return Finished(
        outcome=outcome, message="why", result=given_report.results[0], report=given_report
    )


def take_in(outcome: Outcome, limit: int = 3, report: dict[str, Any] | None = None, **record: Any):
    record = make_record(phase=RUNNING, attempts=1, **record)
    return after(record, ended(outcome, **(report or {})), now=NOW, limit=limit)


def test_every_outcome_has_a_row() -> None:
    assert set(TABLE) == set(Outcome)


def test_the_precedence_is_the_designs() -> None:
    want = (
        "Cancelled BudgetExceeded Auth Config Transient ModelSilent OutOfScope Blocked Timeout "
        "TurnLimit "
        "ContextExhausted OutOfMemory ProcessLimit DiskFull AgentError VerifyFailed NoChanges "
        "NoResult Infrastructure"
    )
    assert " ".join(PRECEDENCE) == want


SILENCES = [
    pytest.param({}, ("Transient", 1, None), id="the first waits behind the gate"),
    pytest.param({"silences": 1}, ("Transient", 2, None), id="so does the second"),
    pytest.param({"silences": 2}, ("ModelSilent", 3, 30), id="the third stalls the package"),
    pytest.param({"silences": 3, "transient_retries": 1, "reason": "ModelSilent"},
                 ("ModelSilent", 4, 60), id="the next waits twice as long"),
]  # fmt: skip


@pytest.mark.parametrize(("known", "want"), SILENCES)
def test_a_silent_model_is_nobodys_fault_and_stalls_after_three_in_a_row(
    known: dict[str, Any], want: tuple[str, int, int | None]
) -> None:
    record = make_record(phase=RUNNING, attempts=1, consecutive_failures=1, **known)
    given_report = ended(Outcome.MODEL_SILENT)

    record = after(record, given_report, now=NOW, limit=3, gated=True)

    wait = (record.not_before - NOW).total_seconds() if record.not_before else None
    assert (record.reason, record.silences, wait) == want
    assert record.consecutive_failures == 1


@pytest.mark.parametrize(
    ("outcome", "want"),
    [(Outcome.TRANSIENT, 2), (Outcome.INFRASTRUCTURE, 2), (Outcome.VERIFY_FAILED, None)],
)
def test_silences_in_a_row_end_with_an_answer(outcome: Outcome, want: int | None) -> None:
    assert take_in(outcome, silences=2).silences == want


def test_success_marks_done_and_forgets_failures() -> None:
    record = take_in(Outcome.SUCCESS, consecutive_failures=2, transient_retries=3)

    assert (record.marker, record.reason, record.commit) == (Marker.DONE, "Verified", "c0ffee")
    assert (record.consecutive_failures, record.transient_retries) == (0, 0)


def test_no_changes_with_a_commit_is_done_because_verify_passed_and_the_agent_said_why() -> None:
    record = take_in(Outcome.NO_CHANGES, report={"commit": "beef"}, consecutive_failures=1)

    assert (record.marker, record.reason, record.commit) == (Marker.DONE, "NoChanges", "beef")
    assert record.consecutive_failures == 0


@pytest.mark.parametrize("outcome", COUNTED)
def test_a_counted_failure_gives_a_fresh_agent_a_try(outcome: Outcome) -> None:
    record = take_in(outcome, consecutive_failures=1)

    assert (record.marker, record.consecutive_failures) == (Marker.PENDING, 2)
    assert record.not_before is None


@pytest.mark.parametrize("outcome", COUNTED)
def test_the_third_counted_failure_in_a_row_skips_the_subtask(outcome: Outcome) -> None:
    record = take_in(outcome, consecutive_failures=2)

    assert (record.marker, record.reason) == (Marker.SKIPPED, "TooManyFailures")


@pytest.mark.parametrize("outcome", [o for o in UNCOUNTED if o is not Outcome.SUCCESS])
def test_an_uncounted_outcome_neither_counts_nor_resets(outcome: Outcome) -> None:
    assert take_in(outcome, consecutive_failures=2).consecutive_failures == 2


@pytest.mark.parametrize("outcome", [o for o in Outcome if TABLE[o].next is NextStep.REVIEW])
def test_what_only_a_person_can_decide_is_marked_at_once(outcome: Outcome) -> None:
    assert take_in(outcome).marker is Marker.NEEDS_REVIEW


@pytest.mark.parametrize(("retries", "want"), [(0, 2), (1, 4), (4, 32), (8, 300), (30, 300)])
def test_trouble_outside_backs_off_by_powers_of_two(retries: int, want: int) -> None:
    record = take_in(Outcome.INFRASTRUCTURE, transient_retries=retries)

    assert record.not_before == NOW + seconds(want)
    assert record.transient_retries == retries + 1


def test_the_first_probe_comes_soon_after_trouble_of_another_kind() -> None:
    record = take_in(Outcome.CONFIG, transient_retries=5, reason="EpisodeRunning")

    assert (record.not_before, record.transient_retries) == (NOW + seconds(30), 1)


def test_the_providers_reset_time_is_waited_for() -> None:
    reset = (NOW + seconds(900)).timestamp()

    assert take_in(Outcome.TRANSIENT, report={"not_before": reset}).not_before == NOW + seconds(900)


@pytest.mark.parametrize(("retries", "want"), [(0, 30), (1, 60), (3, 240), (4, 300), (9, 300)])
def test_a_wrong_setting_is_probed_slowly(retries: int, want: int) -> None:
    record = take_in(Outcome.CONFIG, transient_retries=retries, reason="Config")

    assert record.not_before == NOW + seconds(want)


def test_the_backoffs_are_capped() -> None:
    assert backoff_after(100) == probe_after(100) == seconds(300)


def test_an_episode_whose_record_was_lost_is_adopted() -> None:
    seen = make_seen(records=[make_record()], episodes=(make_episode(),))

    state = replay(seen)

    assert state.by_id["T001"].attempts == 1
    assert state.by_id["T001"].phase is RUNNING
    assert len(state.live) == 1


def test_an_end_that_was_not_recorded_counts_before_the_next_episode_is_adopted() -> None:
    first = make_episode(attempt=1, report=make_report(Outcome.TIMEOUT), complete=True)
    seen = make_seen(
        records=[make_record(phase=RUNNING, attempts=1)],
        episodes=(make_episode(attempt=2), first),
    )

    state = replay(seen)

    assert [item.ended.outcome for item in state.attempt_results] == [Outcome.TIMEOUT]
    assert state.by_id["T001"].consecutive_failures == 1
    assert state.by_id["T001"].attempts == 2
    assert [episode.attempt for episode, _ in state.live] == [2]


def test_an_adopted_episode_of_a_raised_revision_counts_for_that_revision() -> None:
    package = make_package([make_entry(revision=1)])
    done = make_record(phase=SubtaskPhase.DONE, attempts=1)
    again = make_episode(attempt=2, revision=1, report=make_report())

    record = replay(make_seen(package, [done], episodes=(again,))).by_id["T001"]

    assert (record.marker, record.observed_revision, record.attempts) == (Marker.DONE, 1, 2)


def test_a_removed_subtask_is_live_until_its_pod_has_ended_and_its_usage_counts() -> None:
    package = make_package([make_entry("B")])
    status = package.status.model_copy(
        update={"subtasks": (make_record("A", phase=RUNNING, attempts=3),)}
    )
    package = package.model_copy(update={"status": status})
    running = make_episode("A", attempt=3)
    ended = make_episode("A", attempt=3, report=make_report(Outcome.TIMEOUT, subtask="A"))

    before = replay(make_seen(package, episodes=(running,)))
    after_it = replay(make_seen(package, episodes=(ended,)))

    assert [episode.subtasks for episode, _ in before.live] == [("A",)]
    assert (after_it.live, after_it.usage.input_tokens) == ((), 10)
    assert [(r.id, r.reason, r.attempts) for r in after_it.removed] == [("A", "Removed", 3)]


def test_a_subtask_that_comes_back_begins_again_with_a_new_attempts_number() -> None:
    removed = make_record(phase=SubtaskPhase.SKIPPED, reason="Removed", attempts=3)
    old = make_episode(attempt=3, report=make_report(), complete=True)

    seen = make_seen(records=[removed], episodes=(old,))

    assert replay(seen).by_id["T001"].marker is Marker.PENDING
    (start,) = [item for item in decide(seen).actions if isinstance(item, StartEpisode)]
    assert start.members[0].attempt == 4


def test_a_job_that_vanished_is_trouble_outside() -> None:
    seen = make_seen(records=[make_record(phase=RUNNING, attempts=1)])

    state = replay(seen)

    assert state.attempt_results[0].ended.outcome is Outcome.INFRASTRUCTURE
    assert state.by_id["T001"].marker is Marker.PENDING


def test_what_an_episode_cost_and_said_is_rounded_and_cut_as_the_crd_wants_it() -> None:
    given_report = make_report(usage=Usage(cost_usd="0.12345678901"))
    long = Finished(
        outcome=Outcome.VERIFY_FAILED,
        message="why " * 500,
        result=given_report.results[0],
        report=given_report,
    )

    record = after(make_record(phase=RUNNING), long, now=NOW, limit=3).to_manifest()

    assert record["costUSD"] == "0.123457"
    assert len(record["message"]) <= 400


EDITS = [
    pytest.param({"revision": 1}, {"phase": SubtaskPhase.DONE, "consecutive_failures": 2},
                 Marker.PENDING, 0, id="a raised revision runs it again"),
    pytest.param({"revision": 1}, {"phase": SubtaskPhase.DONE, "observed_revision": 2},
                 Marker.DONE, 0, id="a lower revision changes nothing"),
    pytest.param({"skip": True}, {}, Marker.SKIPPED, 0, id="skipping a pending one"),
    pytest.param({"skip": True}, {"phase": SubtaskPhase.NEEDS_REVIEW}, Marker.SKIPPED, 0,
                 id="skipping one that needs review"),
    pytest.param({"skip": True}, {"phase": SubtaskPhase.DONE}, Marker.DONE, 0,
                 id="done stays done when it is skipped"),
    pytest.param({}, {"phase": SubtaskPhase.SKIPPED, "reason": "SkippedByUser"}, Marker.PENDING, 0,
                 id="no longer skipping"),
    pytest.param({}, {"phase": SubtaskPhase.SKIPPED, "reason": "TooManyFailures",
                      "consecutive_failures": 3}, Marker.SKIPPED, 3,
                 id="skipped for its failures stays skipped"),
]  # fmt: skip


@pytest.mark.parametrize(("entry", "record", "want_marker", "want_failures"), EDITS)
def test_an_edit_takes_effect_at_the_next_decision(
    entry: dict[str, Any], record: dict[str, Any], want_marker: Marker, want_failures: int
) -> None:
    seen = make_seen(make_package([make_entry(**entry)]), [make_record(**record)])

    now = replay(seen).by_id["T001"]

    assert (now.marker, now.consecutive_failures) == (want_marker, want_failures)


def test_an_edited_package_tries_a_wrong_setting_again_at_once() -> None:
    record = make_record(reason="Config", not_before=NOW + seconds(200))
    seen = make_seen(make_package(metadata={"generation": 2}), [record])

    assert replay(seen).by_id["T001"].not_before is None


def test_usage_counts_episodes_and_transient_retries_apart() -> None:
    package = make_package([make_entry("A"), make_entry("B")], parallelism=2)
    records = [make_record(id, phase=RUNNING, attempts=1) for id in ("A", "B")]
    episodes = (
        make_episode("A", report=make_report(subtask="A")),
        make_episode("B", report=make_report(Outcome.TRANSIENT, subtask="B")),
    )

    usage = replay(make_seen(package, records, episodes=episodes)).usage

    assert (usage.episodes, usage.transient_retries) == (1, 1)
    assert (usage.input_tokens, str(usage.cost_usd)) == (20, "0.02")

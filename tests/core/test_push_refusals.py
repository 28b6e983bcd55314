"""What follows when the repository's server refuses a push: no agent is paid to find out."""

from typing import Any

import pytest

from afresh.api.package_status import SubtaskRecord
from afresh.contract.report import SYNC_ID, Report, Result, Unpushed, VerifyResult
from afresh.contract.words import Outcome, PushRefusal
from afresh.core.decision import Decision, StartSync
from afresh.core.job_inputs import generations_of
from afresh.core.observed import Observed
from afresh.core.planner import decide
from afresh.core.push_target import push_target
from afresh.core.status import package_status
from tests.make import (
    NOW,
    make_entry,
    make_episode,
    make_package,
    make_record,
    make_report,
    make_seen,
    make_sync,
    seconds,
    starts_of,
)

RUNNING = {"phase": "Running", "attempts": 1, "reason": "EpisodeRunning"}
TARGET = push_target(make_package())

REPOSITORY = {"url": "https://git.example.com/team/api.git", "secretName": "old"}
OTHER = push_target(make_package(repository=REPOSITORY))


def refused_record(refusal: PushRefusal, **fields: Any) -> SubtaskRecord:
    kept = "beef" if refusal is PushRefusal.KEPT else None
    return make_record(
        **{
            "attempts": 1,
            "reason": "Config",
            "message": "Refused.",
            "refused": refusal,
            "kept": kept,
            "transient_retries": 1,
            "not_before": NOW,
            **fields,
        }
    )


def refused_report(refusal: PushRefusal, *, subtask: str = "T001", **fields: Any) -> Report:
    kept = "beef" if refusal is PushRefusal.KEPT else None
    result = Result(
        id=subtask,
        outcome=Outcome.CONFIG,
        unpushed=Unpushed(refusal=refusal, kept=kept),
        message="A rule declines it.",
        **fields,
    )
    return Report(episode="e", stage="done", final=True, results=(result,))


def probes(decision: Decision) -> list[StartSync]:
    return [item for item in decision.actions if isinstance(item, StartSync)]


def probed(
    record: SubtaskRecord, given: Report, *, package: Any = None
) -> tuple[Observed, Decision]:
    """What follows from a push probe that has ended so."""
    seen = make_seen(
        package, [record], episodes=(make_sync(1, report=given, complete=True, plan=""),)
    )
    return seen, decide(seen)


def passed(*results: Result) -> Report:
    return Report(
        episode="e", stage="done", final=True, push_passed=True, results=results, head="f00d"
    )


@pytest.mark.parametrize("refusal", [PushRefusal.PLAN, PushRefusal.KEPT, PushRefusal.LOST])
def test_a_refused_push_is_probed_by_the_runner_alone_and_no_agent_starts(
    refusal: PushRefusal,
) -> None:
    decision = decide(make_seen(records=[refused_record(refusal)]))

    (probe,) = probes(decision)
    assert (probe.order.tasks, probe.order.push_check) == ((), True)
    want = ["beef"] if refusal is PushRefusal.KEPT else []
    assert [item.commit for item in probe.order.kept] == want
    assert starts_of(decision) == []
    assert (decision.phase, decision.reason, decision.message) == ("Stalled", "Config", "Refused.")


def test_nothing_is_probed_before_its_time_or_while_another_probe_runs() -> None:
    later = refused_record(PushRefusal.KEPT, not_before=NOW + seconds(9))
    due = refused_record(PushRefusal.KEPT)

    waits = decide(make_seen(records=[later]))
    runs = decide(make_seen(records=[due], episodes=(make_sync(1),)))

    assert (probes(waits), probes(runs)) == ([], [])
    assert (waits.phase, runs.phase) == ("Stalled", "Stalled")
    assert waits.recheck_after == seconds(9)


def test_a_suspended_package_probes_nothing() -> None:
    package = make_package(suspend=True)

    decision = decide(make_seen(package, [refused_record(PushRefusal.KEPT)]))

    assert (probes(decision), starts_of(decision), decision.phase) == ([], [], "Suspended")


def test_an_end_by_a_refused_push_keeps_the_commit_and_makes_the_server_unknown() -> None:
    given = refused_report(PushRefusal.KEPT, verify=VerifyResult(exit_code=0, duration_seconds=1))
    package = make_package(status={"pushPassed": TARGET})
    seen = make_seen(package, [make_record(**RUNNING)], episodes=(make_episode(report=given),))

    decision = decide(seen)

    (record,) = decision.records
    assert (record.refused, record.kept) == (PushRefusal.KEPT, "beef")
    assert package_status(seen, decision).push_passed == ""
    assert decision.usage.episodes == 1, "an agent that was paid for counts"


def test_a_server_that_takes_a_push_is_recorded_with_branch_and_secret() -> None:
    seen = make_seen(records=[make_record(**RUNNING)])
    given = make_report(push_passed=True)
    seen = make_seen(
        records=[make_record(**RUNNING)],
        episodes=(make_episode(report=given, generations=generations_of(seen)),),
    )

    status = package_status(seen, decide(seen))

    assert status.push_passed == TARGET


@pytest.mark.parametrize(
    ("known", "want"),
    [
        pytest.param(TARGET, False, id="it passed for this branch and Secret"),
        pytest.param(OTHER, True, id="it passed with another Secret"),
        pytest.param(None, True, id="nothing is known"),
    ],
)
def test_an_episode_checks_the_push_first_unless_it_is_known_to_pass(
    known: str | None, want: bool
) -> None:
    status = {"pushPassed": known} if known else {}

    (start,) = [
        item
        for item in decide(make_seen(make_package(status=status))).actions
        if hasattr(item, "members")
    ]

    assert start.order.push_check is want


def test_a_delivered_commit_makes_its_subtask_done_without_an_episode() -> None:
    done = Result(id="T001", outcome=Outcome.SUCCESS, commit="beef")

    seen, decision = probed(refused_record(PushRefusal.KEPT), passed(done))

    (record,) = decision.records
    assert (record.phase, record.marker, record.commit) == ("Done", "[x]", "beef")
    assert (record.refused, record.kept, record.attempts) == (None, None, 1)
    assert starts_of(decision) == []
    assert package_status(seen, decision).push_passed == TARGET


def test_kept_work_that_does_not_fit_any_more_goes_into_an_ordinary_episode() -> None:
    _, decision = probed(refused_record(PushRefusal.KEPT), passed())

    assert starts_of(decision) == ["T001"]
    (start,) = [item for item in decision.actions if hasattr(item, "members")]
    assert (start.order.tasks[0].kept, start.order.push_check) == ("beef", False)


def test_a_probe_that_is_refused_waits_longer_and_says_why() -> None:
    given = refused_report(PushRefusal.PLAN, subtask=SYNC_ID)

    seen, decision = probed(refused_record(PushRefusal.KEPT), given)

    (record,) = decision.records
    assert record.not_before == NOW + seconds(60)
    assert (record.refused, record.kept) == (PushRefusal.KEPT, "beef")
    assert decision.message == "A rule declines it."
    assert (starts_of(decision), probes(decision)) == ([], [])
    assert package_status(seen, decision).push_passed == ""


def test_work_that_was_lost_to_a_server_that_takes_the_plan_is_not_done_again_by_itself() -> None:
    _, decision = probed(refused_record(PushRefusal.LOST), passed())

    (record,) = decision.records
    assert record.refused is PushRefusal.WORK_ONLY
    assert (starts_of(decision), probes(decision), decision.phase) == ([], [], "Stalled")
    assert "afresh retry" in decision.message

    again = decide(make_seen(records=[record], now=NOW + seconds(86400)))

    assert (starts_of(again), probes(again), again.phase) == ([], [], "Stalled")


def test_work_that_was_lost_is_done_again_once_a_server_that_refused_the_plan_takes_it() -> None:
    _, decision = probed(refused_record(PushRefusal.LOST, transient_retries=2), passed())

    assert starts_of(decision) == ["T001"]


def test_a_person_who_asks_has_lost_work_done_again() -> None:
    package = make_package(metadata={"annotations": {"afresh.dev/retry-requested-at": "now"}})

    decision = decide(make_seen(package, [refused_record(PushRefusal.WORK_ONLY)]))

    assert starts_of(decision) == ["T001"]


def test_a_raised_revision_forgets_what_was_kept() -> None:
    package = make_package([make_entry(revision=1)])

    decision = decide(make_seen(package, [refused_record(PushRefusal.KEPT)]))

    (start,) = [item for item in decision.actions if hasattr(item, "members")]
    assert start.order.tasks[0].kept is None


def test_no_plan_is_synced_while_pushes_are_refused() -> None:
    package = make_package([make_entry("A"), make_entry("B")])
    records = [
        make_record("A", phase="Done", attempts=1, reason="Verified", commit="c"),
        refused_record(PushRefusal.KEPT, id="B", not_before=NOW + seconds(9)),
    ]
    seen = make_seen(package, records)
    status = seen.package.status.model_copy(update={"plan_digest": "sha256:old"})
    seen = make_seen(seen.package.model_copy(update={"status": status}))

    assert probes(decide(seen)) == []

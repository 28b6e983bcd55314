"""The plan on the branch says what the status says; where no episode could do it, a sync does."""

from dataclasses import replace
from typing import Any

import pytest

from afresh.api.phases import SubtaskPhase
from afresh.contract.report import Report, Result
from afresh.contract.words import Outcome
from afresh.core.decision import Decision, StartSync
from afresh.core.history.plan_state import wanted_digest
from afresh.core.observed import Observed
from afresh.core.planner import decide
from afresh.core.reasons import Reason
from afresh.core.status import package_status
from tests.make import (
    NOW,
    make_entry,
    make_episode,
    make_package,
    make_record,
    make_seen,
    make_sync,
    seconds,
    starts_of,
)

DONE = {"phase": SubtaskPhase.DONE, "attempts": 1, "reason": "Verified"}
RUNNING = {"phase": SubtaskPhase.RUNNING, "attempts": 1, "reason": "EpisodeRunning"}
OLD = "sha256:old"


def behind(*records: Any, digest: str = OLD, **fields: Any) -> Observed:
    """A package whose branch has another plan than its records make."""
    spec = fields.pop("spec", {})
    package = make_package([make_entry("A"), make_entry("B")], **spec)
    seen = make_seen(package, list(records) or [make_record(n, **DONE) for n in "AB"], **fields)
    status = seen.package.status.model_copy(
        update={"plan_digest": digest, "plan_sync": fields.get("plan_sync")}
    )
    return replace(seen, package=seen.package.model_copy(update={"status": status}))


def syncs(decision: Decision) -> list[int]:
    return [item.attempt for item in decision.actions if isinstance(item, StartSync)]


def test_a_package_at_its_end_is_pending_until_its_branch_says_the_same() -> None:
    seen = behind()
    decision = decide(seen)

    assert (decision.phase, decision.reason) == ("Pending", Reason.PLAN_BEHIND)
    (start,) = [item for item in decision.actions if isinstance(item, StartSync)]
    assert start.plan == wanted_digest(seen.package, decision.records)
    assert (start.attempt, start.order.tasks) == (1, ())
    assert [line.marker for line in start.order.plan] == ["[x]", "[x]"]


NONE_NEEDED = [
    pytest.param(behind(make_record("A", **RUNNING), make_record("B"),
                        episodes=(make_episode("A"),)), id="an episode runs"),
    pytest.param(behind(make_record("A"), make_record("B")), id="an episode starts"),
    pytest.param(behind(make_record("A"), make_record("B"), digest="",
                        spec={"suspend": True}), id="nothing was ever done"),
    pytest.param(behind(rival="team-a/first"), id="the branch is another package's"),
    pytest.param(behind(spec={"metadata": {"deletionTimestamp": "2030-01-02T03:04:00Z"}}),
                 id="the package is being deleted"),
    pytest.param(behind(episodes=(make_sync(1),)), id="one is at work"),
]  # fmt: skip


@pytest.mark.parametrize("seen", NONE_NEEDED)
def test_no_sync_starts_where_none_is_needed_or_possible(seen: Observed) -> None:
    assert syncs(decide(seen)) == []


def test_a_suspended_package_still_brings_its_plan_in_line() -> None:
    decision = decide(behind(make_record("A", **DONE), make_record("B"), spec={"suspend": True}))

    assert (decision.phase, syncs(decision), starts_of(decision)) == ("Suspended", [1], [])


def test_a_skip_after_the_end_is_pushed_before_the_package_is_at_its_end_again() -> None:
    failed = make_record("B", phase=SubtaskPhase.SKIPPED, attempts=3, reason="TooManyFailures")
    entries = [make_entry("A"), make_entry("B", skip=True, title="Other")]
    before = make_seen(make_package([make_entry("A"), make_entry("B")]),
                       [make_record("A", **DONE), failed]).package.status  # fmt: skip
    package = make_package(entries).model_copy(update={"status": before})

    decision = decide(make_seen(package))

    assert (decision.records[1].reason, syncs(decision)) == ("SkippedByUser", [1])
    assert decision.reason == Reason.PLAN_BEHIND


def test_a_sync_that_has_pushed_ends_the_package_in_the_same_step() -> None:
    seen = behind()
    plan = wanted_digest(seen.package, decide(seen).records)
    pushed_report = Report(episode="e", stage="reported", final=True, head="beef", plan_digest=plan)
    over = replace(seen, episodes=(make_sync(1, plan=plan, report=pushed_report),))

    decision = decide(over)

    assert (decision.phase, syncs(decision)) == ("Succeeded", [])
    status = package_status(over, decision)
    assert (status.plan_digest, status.head_commit) == (plan, "beef")


def test_a_sync_of_a_plan_that_is_out_of_date_by_then_is_followed_by_another() -> None:
    pushed_report = Report(episode="e", stage="reported", final=True, plan_digest="sha256:other")

    decision = decide(behind(episodes=(make_sync(4, plan="sha256:other", report=pushed_report),)))

    assert (decision.phase, syncs(decision)) == ("Pending", [5])


def test_a_sync_that_finds_anothers_commits_stalls_the_package_that_has_ended() -> None:
    result = Result(id="", outcome=Outcome.BRANCH_IN_USE, message="Another's.")
    pushed_report = Report(episode="e", stage="reported", final=True, results=(result,))
    seen = behind(episodes=(make_sync(1, report=pushed_report, complete=True),))

    decision = decide(seen)

    assert (decision.phase, decision.reason) == ("Stalled", Reason.BRANCH_IN_USE)
    assert decision.message == "Another's."
    assert syncs(decision) == []
    assert decision.recheck_after == seconds(30)


@pytest.mark.parametrize(("failures", "want_wait"), [(0, 30), (1, 60), (9, 300)])
def test_a_sync_that_fails_is_tried_again_later_and_the_package_says_why(
    failures: int, want_wait: int
) -> None:
    result = Result(id="", outcome=Outcome.AUTH, message="The remote refuses the password.")
    pushed_report = Report(episode="e", stage="reported", final=True, results=(result,))
    package = make_package(
        [make_entry("A")],
        status={"planSync": {"attempts": 1, "failures": failures}, "planDigest": OLD},
    )
    status = package.status.model_copy(update={"subtasks": (make_record("A", **DONE),)})
    package = package.model_copy(update={"status": status})

    decision = decide(
        make_seen(package, episodes=(make_sync(2, report=pushed_report, complete=True),))
    )

    assert (decision.phase, decision.reason) == ("Pending", Reason.PLAN_BEHIND)
    assert "The remote refuses the password." in decision.message
    assert decision.syncs.record is not None
    assert decision.syncs.record.not_before == NOW + seconds(want_wait)
    assert syncs(decision) == []
    assert decision.recheck_after is not None

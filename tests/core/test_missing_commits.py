"""A subtask whose commit no runner finds is not done: a person looks, and nothing goes round."""

from dataclasses import replace
from typing import Any

import pytest

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import SubtaskPhase
from afresh.contract.report import Report, Result
from afresh.contract.words import Marker, Outcome
from afresh.core.decision import Decision, StartSync
from afresh.core.observed import Episode, Observed
from afresh.core.planner import decide
from afresh.core.reasons import Reason
from afresh.core.status import package_status
from tests.make import (
    make_entry,
    make_episode,
    make_package,
    make_record,
    make_seen,
    make_sync,
    starts_of,
)

LOST, KEPT = "a" * 40, "b" * 40
DONE = {"phase": SubtaskPhase.DONE, "marker": Marker.DONE, "attempts": 1, "reason": "Verified"}


def with_missing(episode: Episode, *missing: str) -> Episode:
    """The episode once its runner has looked for the commits and found these missing."""
    first = episode.subtasks[0] if episode.subtasks else ""
    result = Result(id=first, outcome=Outcome.CANCELLED, message="Commits are missing.")
    report = Report(
        episode=episode.name, stage="done", final=True, results=(result,), missing=missing
    )
    return replace(episode, report=report)


def seen_with(*records: SubtaskRecord, depends: bool = False, **fields: Any) -> Observed:
    after = {"dependsOn": ["A"]} if depends else {}
    package = make_package([make_entry("A"), make_entry("B", **after), make_entry("C")])
    return make_seen(package, list(records), **fields)


def next_look(seen: Observed, decision: Decision) -> Observed:
    """What is seen once the decision is written and its Jobs are gone."""
    status = package_status(seen, decision)
    package = seen.package.model_copy(update={"status": status})
    return replace(seen, package=package, episodes=())


def working(subtask: str) -> SubtaskRecord:
    return make_record(subtask, phase=SubtaskPhase.RUNNING, attempts=1, reason="EpisodeRunning")


def test_an_order_names_the_commits_of_what_is_done() -> None:
    seen = seen_with(make_record("A", commit=KEPT, **DONE), make_record("B", commit=LOST))

    (start, *_) = (item for item in decide(seen).actions if hasattr(item, "order"))

    assert [line.commit for line in start.order.plan] == [KEPT, None, None]


def test_a_missing_commit_makes_its_subtask_one_for_a_person() -> None:
    records = (make_record("A", commit=LOST, **DONE), working("B"))
    decision = decide(seen_with(*records, episodes=(with_missing(make_episode("B"), LOST),)))

    lost, stopped, _ = decision.records
    assert (lost.phase, lost.marker, lost.reason) == ("NeedsReview", "[!]", Reason.COMMIT_MISSING)
    assert lost.message.startswith(
        f"Its commit {LOST} is not in the repository; raise its revision"
    )
    assert (stopped.consecutive_failures, stopped.transient_retries) == (0, 0)


def test_what_does_not_rest_on_it_goes_on_and_no_order_names_it_again() -> None:
    records = (make_record("A", commit=LOST, **DONE), working("B"))
    decision = decide(seen_with(*records, episodes=(with_missing(make_episode("B"), LOST),)))
    (start, *_) = (item for item in decision.actions if hasattr(item, "order"))

    assert starts_of(decision) == ["B"]
    assert (start.order.plan[0].marker, start.order.plan[0].commit) == ("[!]", None)


def test_what_rests_on_it_waits_and_the_package_needs_a_person() -> None:
    records = (make_record("A", commit=LOST, **DONE), working("B"), make_record("C", **DONE))
    seen = seen_with(*records, depends=True, episodes=(with_missing(make_episode("B"), LOST),))
    decision = decide(seen)

    later = decide(next_look(seen, decision))

    assert starts_of(decision) == starts_of(later) == []
    assert later.records[0].phase == "NeedsReview"


def test_a_sync_that_misses_a_commit_keeps_the_package_from_its_end() -> None:
    records = [make_record(name, commit=LOST if name == "A" else KEPT, **DONE) for name in "ABC"]
    seen = seen_with(*records, episodes=(with_missing(make_sync(1), LOST),))
    decision = decide(seen)

    assert [item.phase for item in decision.records] == ["NeedsReview", "Done", "Done"]
    assert decision.phase != "Succeeded"
    later = next_look(seen, decision)
    later = decide(replace(later, now=later.now.replace(year=later.now.year + 1)))
    (sync,) = (item for item in later.actions if isinstance(item, StartSync))
    assert [line.marker for line in sync.order.plan] == ["[!]", "[x]", "[x]"]
    assert sync.order.plan[0].commit is None


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(make_record("A", commit=KEPT, **DONE), id="done anew since"),
        pytest.param(make_record("A", commit=LOST), id="asked for anew since"),
    ],
)
def test_what_was_done_or_asked_for_since_is_not_what_was_looked_for(record: SubtaskRecord) -> None:
    decision = decide(
        seen_with(record, working("B"), episodes=(with_missing(make_episode("B"), LOST),))
    )

    assert decision.records[0].reason != Reason.COMMIT_MISSING


def test_a_raised_revision_has_it_done_again() -> None:
    lost = make_record(
        "A", phase=SubtaskPhase.NEEDS_REVIEW, attempts=1, reason="CommitMissing", commit=LOST
    )
    package = make_package([make_entry("A", revision=1), make_entry("B"), make_entry("C")])
    rest = [make_record(name, commit=KEPT, **DONE) for name in "BC"]

    assert starts_of(decide(make_seen(package, [lost, *rest]))) == ["A"]


def test_a_success_without_a_plan_is_looked_at_before_the_end() -> None:
    """Whoever says in a runner's place that a commit is there is asked once more."""
    result = Result(id="C", outcome=Outcome.SUCCESS, commit=LOST)
    report = Report(episode="e", stage="done", final=True, results=(result,))
    episode = make_episode("C", report=report)
    records = (*(make_record(name, commit=KEPT, **DONE) for name in "AB"), working("C"))

    decision = decide(seen_with(*records, episodes=(episode,)))

    (sync,) = (item for item in decision.actions if isinstance(item, StartSync))
    assert decision.reason == Reason.PLAN_BEHIND
    assert sync.order.plan[2].commit == LOST

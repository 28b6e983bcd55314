"""Why people send work back: counted once, when the raised revision is seen; no agent is told."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import RevisionReason, SubtaskPhase
from afresh.core.observed import Observed
from afresh.core.planner import decide
from afresh.core.status import package_status
from tests.core.test_boundary import brief_of, histories, order_of
from tests.make import make_entry, make_episode, make_package, make_record, make_seen, starts_of

DONE, RUNNING = SubtaskPhase.DONE, SubtaskPhase.RUNNING


def sent_back(record: dict[str, Any], **entry: Any) -> Observed:
    """What is observed once a person has changed the entry of one subtask."""
    return make_seen(make_package([make_entry("A", **entry)]), [make_record("A", **record)])


def counts(record: SubtaskRecord) -> tuple[int, int]:
    return record.rejections, record.hallucinations


COUNTED = [
    pytest.param({"revision": 1, "revisionReason": "Rejected"}, (1, 0), id="a review rejected it"),
    pytest.param({"revision": 1, "revisionReason": "Hallucination"}, (0, 1), id="it was made up"),
    pytest.param({"revision": 9, "revisionReason": "Rejected"}, (1, 0), id="raised by more than 1"),
    pytest.param({"revision": 1}, (0, 0), id="no reason"),
    pytest.param({"revisionReason": "Rejected"}, (0, 0), id="a reason without a raised revision"),
]


@pytest.mark.parametrize(("entry", "want"), COUNTED)
def test_reason_is_counted_with_the_raised_revision_that_it_came_with(
    entry: dict[str, Any], want: tuple[int, int]
) -> None:
    seen = sent_back({"phase": DONE, "attempts": 1, "reason": "Verified"}, **entry)

    assert [counts(record) for record in decide(seen).records] == [want]


def test_reason_that_stays_in_the_manifest_is_counted_once() -> None:
    seen = sent_back({"phase": DONE, "attempts": 1}, revision=1, revisionReason="Rejected")
    first = decide(seen)
    package = seen.package.model_copy(update={"status": package_status(seen, first)})

    again = decide(replace(seen, package=package, episodes=(make_episode("A", 2, 1),)))

    assert starts_of(first) == ["A"]
    assert [counts(record) for record in again.records] == [(1, 0)]


def test_running_subtask_that_is_sent_back_is_counted_when_its_next_revision_begins() -> None:
    seen = sent_back({"phase": RUNNING, "attempts": 1}, revision=1, revisionReason="Rejected")
    running = replace(seen, episodes=(make_episode("A"),))

    stopping = decide(running)
    package = seen.package.model_copy(update={"status": package_status(running, stopping)})
    begun = decide(replace(seen, package=package, episodes=()))

    assert [counts(record) for record in stopping.records] == [(0, 0)]
    assert [counts(record) for record in begun.records] == [(1, 0)]


def test_revision_whose_episode_a_crash_left_unrecorded_is_counted_all_the_same() -> None:
    seen = sent_back({"phase": DONE, "attempts": 1}, revision=1, revisionReason="Hallucination")

    adopted = decide(replace(seen, episodes=(make_episode("A", 2, 1),)))

    assert [counts(record) for record in adopted.records] == [(0, 1)]
    assert starts_of(adopted) == []


def test_subtask_that_begins_with_a_reason_of_another_package_starts_at_zero() -> None:
    package = make_package([make_entry("A", revision=3, revisionReason="Rejected")])

    assert [counts(record) for record in decide(make_seen(package)).records] == [(0, 0)]


@given(st.sampled_from(RevisionReason), histories(), st.integers(0, 5))
def test_order_and_brief_are_the_same_to_the_byte_whatever_the_reason(
    reason: RevisionReason, past: dict[str, Any], count: int
) -> None:
    def package(**entry: Any) -> Any:
        return make_package([make_entry("A"), make_entry("B", **entry)], maxEpisodes=99)

    plain = order_of(package(), past)
    order = order_of(package(revisionReason=reason), {**past, "rejections": count})

    assert order == plain
    assert brief_of(order) == brief_of(plain)

"""The timeline: what is a span, where it lies on the line, and what is folded."""

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from afresh.cli.report.branch_files import Notes
from afresh.cli.report.report import SubtaskRow, report_on
from afresh.cli.report.timeline import (
    FOLD_WIDTH,
    WIDTH,
    Line,
    SpanKind,
    TimelineSpan,
    line_of,
    spans_of,
)
from tests.make import NOW, make_child, make_entry, make_package, make_record, seconds


def at(second: float) -> datetime:
    return NOW + seconds(second)


def iso(second: float) -> str:
    return f"{at(second):%Y-%m-%dT%H:%M:%SZ}"


def episode(start: float, end: float) -> TimelineSpan:
    return TimelineSpan(kind=SpanKind.EPISODE, start=at(start), end=at(end))


def row(
    phase: str, attempts: list[dict[str, Any]], changes: list[dict[str, Any]], reason: str = ""
) -> SubtaskRow:
    record = make_record("A", phase=phase, attempts=len(attempts), reason=reason).to_manifest()
    package = make_package([make_entry("A")], status={"subtasks": [record]})
    child = make_child(package, "A", attempts=attempts, transitions=changes)
    return report_on(package, [child], Notes(), at(1000)).subtasks[0]


def tried(number: int, start: float, end: float | None, outcome: str | None) -> dict[str, Any]:
    attempt: dict[str, Any] = {"number": number, "startTime": iso(start)}
    return attempt | ({"completionTime": iso(end), "outcome": outcome} if end else {})


def to(phase: str, second: float, reason: str = "") -> dict[str, Any]:
    return {"time": iso(second), "to": phase, "reason": reason}


def told(spans: tuple[TimelineSpan, ...]) -> list[tuple[str, float, float]]:
    return [
        (span.kind, (span.start - NOW).total_seconds(), (span.end - NOW).total_seconds())
        for span in spans
    ]


SPANS = [
    pytest.param(row("Done", [tried(1, 0, 60, "Success")], []), [("episode", 0, 60)],
                 id="an attempt from its start to its end"),
    pytest.param(row("Running", [tried(1, 0, None, None)], []), [("episode", 0, 1000)],
                 id="an attempt that runs reaches to now"),
    pytest.param(
        row("Done", [tried(1, 0, 10, "Transient"), tried(2, 30, 60, "Success")], []),
        [("wait", 10, 30), ("episode", 0, 10), ("episode", 30, 60)],
        id="a wait between an uncounted attempt and the next one"),
    pytest.param(
        row("Pending", [tried(1, 0, 10, "Infrastructure")], []),
        [("wait", 10, 1000), ("episode", 0, 10)], id="a wait that goes on"),
    pytest.param(
        row("Done", [tried(1, 0, 10, "VerifyFailed"), tried(2, 30, 60, "Success")], []),
        [("episode", 0, 10), ("episode", 30, 60)], id="no wait after a counted failure"),
    pytest.param(
        row("NeedsReview", [tried(1, 0, 10, "Blocked")], [to("NeedsReview", 10, "Blocked")]),
        [("person", 10, 1000), ("episode", 0, 10)], id="a person is waited for till now"),
    pytest.param(
        row("Done", [], [to("Skipped", 10, "TooManyFailures"), to("Pending", 40), to("Done", 50)]),
        [("person", 10, 40)], id="a person who has answered"),
    pytest.param(row("Skipped", [], [to("Skipped", 10, "SkippedByUser")]), [],
                 id="nobody waits for what a person has left out"),
    pytest.param(
        row("Skipped", [], [to("Skipped", 10, "TooManyFailures")], "SkippedByUser"), [],
        id="nobody waits for what a person has left out after its failures"),
    pytest.param(
        row("Done", [tried(1, 0, 60, "Success")], [to("Queued", 0), to("Running", 40)]),
        [("queued", 0, 40), ("episode", 40, 60)], id="a queue before the turn"),
]  # fmt: skip


@pytest.mark.parametrize(("row_", "want"), SPANS)
def test_history_of_a_subtask_becomes_these_spans(
    row_: SubtaskRow, want: list[tuple[str, float, float]]
):
    assert told(spans_of(row_, at(1000))) == want


def test_spans_share_one_line_in_proportion_to_their_time():
    line = line_of([episode(0, 60), episode(60, 180), episode(180, 240)])

    assert [line.at(at(second)) for second in (0, 60, 180, 240)] == [0, 250, 750, 1000]


def test_long_stretch_in_which_nothing_ran_is_folded_to_a_narrow_strip():
    line = line_of([episode(0, 60), episode(36_000, 36_060)])

    half = (WIDTH - FOLD_WIDTH) / 2
    assert [piece.folded for piece in line.pieces] == [False, True, False]
    assert line.at(at(60)) == half
    assert line.at(at(36_000)) == half + FOLD_WIDTH
    assert line.at(at(36_060)) == WIDTH


def test_wait_for_a_person_alone_does_not_stretch_the_line():
    person = TimelineSpan(kind=SpanKind.PERSON, start=at(60), end=at(90_000))

    line = line_of([episode(0, 60), person])

    assert line.at(at(60)) == WIDTH - FOLD_WIDTH
    assert line.at(at(90_000)) == WIDTH


def test_pause_that_is_short_beside_the_work_is_not_folded():
    line = line_of([episode(0, 600), episode(700, 1000)])

    assert [piece.folded for piece in line.pieces] == [False]


@pytest.mark.parametrize(
    ("length", "want"),
    [
        pytest.param(30, timedelta(seconds=5), id="half a minute"),
        pytest.param(3600, timedelta(minutes=10), id="an hour"),
        pytest.param(20 * 86_400, timedelta(days=4), id="weeks"),
    ],
)
def test_labels_stand_at_round_times_and_are_few(length: int, want: timedelta):
    ticks = list(line_of([episode(0, length)]).ticks())

    times = [time for _, time in ticks]
    assert 3 <= len(ticks) <= 7
    assert {after - before for before, after in pairwise(times)} == {want}
    assert all(0 <= place <= WIDTH for place, _ in ticks)


def test_episodes_within_one_second_still_make_a_line():
    line = line_of([episode(5, 5)])

    assert (line.at(at(5)), line.at(at(6))) == (0, WIDTH)


def test_nothing_that_happened_makes_no_line():
    assert line_of([]) == Line(())

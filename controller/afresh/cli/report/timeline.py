"""When what happened: the spans of each subtask, and where they lie on one common line. Pure.

People answer after hours, episodes take minutes: long stretches in which nothing happened are
folded to a narrow strip, so that the episodes stay to be seen.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from afresh.api.phases import SubtaskPhase
from afresh.cli.report.attempts import Ending, Tried
from afresh.cli.report.report import SubtaskRow

WIDTH = 1000.0
FOLD_WIDTH = 24.0
FOLD_AFTER = 0.2  # of the time in which something happened
LEAST_FOLD = timedelta(minutes=1)
MOST_TICKS = 6
STEPS = tuple(
    timedelta(seconds=seconds)
    for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800)
)
DAY = timedelta(days=1)
WAITS = frozenset({"Transient", "Infrastructure", "Auth", "Config"})
LEFT_OUT = frozenset({"SkippedByUser", "Removed"})


class SpanKind(StrEnum):
    """What a span shows."""

    EPISODE = "episode"
    QUEUED = "queued"
    WAIT = "wait"  # for a provider, a node or a correction
    PERSON = "person"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineSpan:
    """A stretch of one subtask's time; of an episode, its attempt."""

    kind: SpanKind
    start: datetime
    end: datetime
    why: str = ""
    attempt: Tried | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the line, from `left` to `right`; folded: nothing happened in it."""

    start: datetime
    end: datetime
    left: float
    right: float
    folded: bool


@dataclass(frozen=True, slots=True)
class Line:
    """The line that all lanes share, of WIDTH units; empty where nothing has happened."""

    pieces: tuple[Piece, ...]

    def at(self, time: datetime) -> float:
        """Return where `time` lies; before the line is its left end, after it its right end."""
        for piece in self.pieces:
            if time <= piece.end:
                whole = (piece.end - piece.start).total_seconds()
                share = max((time - piece.start).total_seconds(), 0) / whole if whole else 0
                return round(piece.left + share * (piece.right - piece.left), 3)
        return WIDTH

    def ticks(self) -> Iterator[tuple[float, datetime]]:
        """Yield places for labels: round times where something happened."""
        open_pieces = [piece for piece in self.pieces if not piece.folded]
        total = sum(((piece.end - piece.start) for piece in open_pieces), timedelta())
        step = next((item for item in STEPS if total <= item * MOST_TICKS), DAY)
        while total > step * MOST_TICKS:
            step *= 2
        for piece in open_pieces:
            time = _rounded_up(piece.start, step)
            while time <= piece.end:
                yield self.at(time), time
                time += step


def spans_of(row: SubtaskRow, now: datetime) -> tuple[TimelineSpan, ...]:
    """Return what happened to one subtask; episodes come last, to be drawn on top."""
    return (*_stays(row, now), *_waits(row, now), *_episodes(row, now))


def line_of(spans: Iterable[TimelineSpan]) -> Line:
    """Return the line on which all these spans lie."""
    every = sorted(spans, key=lambda span: span.start)
    busy = _joined(span for span in every if span.kind is not SpanKind.PERSON)
    if not busy:
        return Line(())
    last = max(span.end for span in every)
    worked = sum((end - start for start, end in busy), timedelta())
    longest = max(worked * FOLD_AFTER, LEAST_FOLD)
    stretches = list(_stretches(busy, last, longest))
    folds = sum(folded for _, _, folded in stretches)
    shown = sum((end - start for start, end, folded in stretches if not folded), timedelta())
    unit = (WIDTH - folds * FOLD_WIDTH) / max(shown.total_seconds(), 1.0)
    pieces, left = [], 0.0
    for start, end, folded in stretches:
        right = left + (FOLD_WIDTH if folded else (end - start).total_seconds() * unit)
        pieces.append(Piece(start, end, left, right, folded))
        left = right
    return Line(tuple(pieces))


def _stretches(
    busy: Sequence[tuple[datetime, datetime]], last: datetime, longest: timedelta
) -> Iterator[tuple[datetime, datetime, bool]]:
    start, end = busy[0]
    for next_start, next_end in (*busy[1:], (last, last)):
        if next_start - end > longest:
            yield start, end, False
            yield end, next_start, True
            start = next_start
        end = max(end, next_end)
    if end > start or not busy[-1][1] < last:
        yield start, end, False


def _joined(spans: Iterable[TimelineSpan]) -> list[tuple[datetime, datetime]]:
    """Stretches in which something happened, in order; a moment is widened to a second."""
    joined: list[tuple[datetime, datetime]] = []
    for span in spans:
        end = max(span.end, span.start + timedelta(seconds=1))
        if joined and span.start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((span.start, end))
    return joined


def _episodes(row: SubtaskRow, now: datetime) -> Iterator[TimelineSpan]:
    for attempt in row.history:
        if attempt.start and (attempt.end or attempt.ending is Ending.RUNNING):
            end = attempt.end or max(now, attempt.start)
            yield TimelineSpan(kind=SpanKind.EPISODE, start=attempt.start, end=end, attempt=attempt)


def _waits(row: SubtaskRow, now: datetime) -> Iterator[TimelineSpan]:
    """Between an attempt that had a temporary cause and the next one."""
    for attempt, later in pairwise((*row.history, None)):
        if attempt is None or attempt.end is None or attempt.outcome not in WAITS:
            continue
        if later is None and row.phase is not SubtaskPhase.PENDING:
            continue
        end = later.start if later else now
        if end and end > attempt.end:
            why = f"waits after {attempt.outcome}"
            yield TimelineSpan(kind=SpanKind.WAIT, start=attempt.end, end=end, why=why)


def _stays(row: SubtaskRow, now: datetime) -> Iterator[TimelineSpan]:
    """Phases in which somebody else is at work: a queue, or a person."""
    for change, later in pairwise((*row.changes, None)):
        if change is None:
            continue
        end = later.at if later else max(now, change.at)
        if change.phase is SubtaskPhase.QUEUED:
            yield TimelineSpan(kind=SpanKind.QUEUED, start=change.at, end=end, why=change.reason)
        person = change.phase in (SubtaskPhase.NEEDS_REVIEW, SubtaskPhase.SKIPPED)
        # Who leaves out what failures had skipped changes the reason alone, at no recorded time.
        reasons = {change.reason} if later else {change.reason, row.reason}
        if person and not reasons & LEFT_OUT:
            yield TimelineSpan(kind=SpanKind.PERSON, start=change.at, end=end, why=change.reason)


def _rounded_up(time: datetime, step: timedelta) -> datetime:
    midnight = time.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - (midnight - time) // step * step

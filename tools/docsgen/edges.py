"""From the changes that occurred to the few edges that a picture shows.

Members of a group that change alike share one edge; so do all phases ("any phase"). Nothing is
left out: each change is behind exactly one edge.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.contract.words import Outcome
from afresh.core.outcome import TABLE
from afresh.core.reasons import Reason
from tools.docsgen.events import Cause
from tools.docsgen.explore import Change

START, END, ANY = "start", "end", "any phase"
COUNTED = "a failure that counts"
BAD_SPEC = "a wrong spec or class"
FRESH_AGENT = "a fresh agent starts"
STOPPED = "asked for again"
LATER = "after others of its batch, or in a queue"
_SPEC_REASONS = frozenset(
    {
        Reason.INVALID_SPEC,
        Reason.AGENT_CLASS_NOT_FOUND,
        Reason.BRANCH_IN_USE,
        Reason.IMAGE_NOT_ALLOWED,
        Reason.NOT_SUPPORTED,
        Reason.ABOVE_CEILING,
    }
)


@dataclass(frozen=True, slots=True)
class Edge:
    """One arrow: where from, where to, and a few words on each line."""

    source: str
    target: str
    words: tuple[str, ...]
    by_person: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram:
    """What is drawn: the phases, and which of them are one when they change alike.

    `interruptions` come from anywhere. What follows the keys of `due_after` is whatever is due;
    the values are words for it.
    """

    title: str
    phases: tuple[str, ...]
    groups: dict[str, tuple[str, ...]]
    interruptions: tuple[str, ...] = ()
    due_after: Mapping[str, str] = field(default_factory=dict)


SUBTASK = Diagram(
    title="The phases of a subtask, and what leads from one to another",
    phases=tuple(SubtaskPhase),
    groups={"settled": (SubtaskPhase.DONE, SubtaskPhase.NEEDS_REVIEW, SubtaskPhase.SKIPPED)},
)
PACKAGE = Diagram(
    title="The phases of a package, and what leads from one to another",
    phases=tuple(phase for phase in PackagePhase if phase != PackagePhase.AWAITING_APPROVAL),
    groups={
        "progressing": (PackagePhase.PENDING, PackagePhase.QUEUED, PackagePhase.RUNNING),
        "at its end": (PackagePhase.SUCCEEDED, PackagePhase.NEEDS_REVIEW, PackagePhase.FAILED),
    },
    interruptions=(PackagePhase.STALLED, PackagePhase.SUSPENDED),
    due_after={
        START: "created",
        PackagePhase.STALLED: "corrected",
        PackagePhase.SUSPENDED: "resumed, edited",
    },
)


def edges_of(diagram: Diagram, changes: Iterable[Change]) -> list[Edge]:
    """Return the edges of `diagram` behind which `changes` are, in a fixed order."""
    left = {_shown(change) for change in changes}
    behind: dict[tuple[str, str], set[Change]] = defaultdict(set)
    for fold in (_from_anywhere, _to_what_is_due, _from_groups):
        for ends, folded in fold(diagram, left):
            behind[ends] |= folded
            left -= folded
    for change in left:
        group = next((n for n, members in diagram.groups.items() if change.source in members), "")
        shared = (group, change.target) in behind
        behind[group if shared else change.source, change.target].add(change)
    return [
        Edge(
            source,
            target,
            _words(diagram, (source, target), folded),
            all(c.cause is Cause.PERSON for c in folded),
        )
        for (source, target), folded in sorted(behind.items())
    ]


def _shown(change: Change) -> Change:
    return Change(
        change.source or START, change.target or END, change.reason, change.event, change.cause
    )


Folds = list[tuple[tuple[str, str], set[Change]]]


def _from_anywhere(diagram: Diagram, changes: set[Change]) -> Folds:
    """A reason that leads to one place from every other phase."""
    targets = {*diagram.interruptions, END, SubtaskPhase.SKIPPED}
    folds: Folds = []
    for target, reason in sorted({(c.target, c.reason) for c in changes if c.target in targets}):
        alike = {c for c in changes if (c.target, c.reason) == (target, reason)}
        if {c.source for c in alike} >= set(diagram.phases) - {target}:
            folds.append(((ANY, target), alike))
    return folds


def _to_what_is_due(diagram: Diagram, changes: set[Change]) -> Folds:
    """From where the loop goes on with whatever is due, which may be any phase."""
    folds: Folds = []
    for source in diagram.due_after:
        alike = {c for c in changes if c.source == source}
        if len({c.target for c in alike}) > 1:
            folds.append(((source, ANY), alike))
    return folds


def _from_groups(diagram: Diagram, changes: set[Change]) -> Folds:
    """A reason that leads from several members of a group to one place outside it."""
    folds: Folds = []
    for name, members in sorted(diagram.groups.items()):
        crossing = {c for c in changes if c.source in members and c.target not in members}
        for target, reason in sorted({(c.target, c.reason) for c in crossing}):
            alike = {c for c in crossing if (c.target, c.reason) == (target, reason)}
            if len({c.source for c in alike}) > 1 or target in diagram.interruptions:
                folds.append(((name, target), alike))
    return folds


def _words(diagram: Diagram, ends: tuple[str, str], changes: set[Change]) -> tuple[str, ...]:
    """The reasons in few words: outcomes of one kind share a line."""
    source, target = ends
    if target == ANY:
        return (diagram.due_after[source],)
    if (source, target) == (SubtaskPhase.PENDING, SubtaskPhase.QUEUED):
        return (LATER,)
    if target in _WORKING:
        return _events(changes)
    lines: dict[str, set[str]] = defaultdict(set)
    for change in changes:
        asked = change.reason == Reason.WAITING
        word = STOPPED if source in _WORKING else change.event
        lines[_line(change.reason)].add(word if asked else change.reason)
    return tuple(
        line if line in (COUNTED, BAD_SPEC) and len(words) > 2 else ", ".join(sorted(words))
        for line, words in sorted(lines.items())
    )


_WORKING = (SubtaskPhase.RUNNING, SubtaskPhase.QUEUED)


def _events(changes: set[Change]) -> tuple[str, ...]:
    """What happened, where that is one thing or two."""
    by_loop = {change.event for change in changes if change.cause is Cause.LOOP}
    events = by_loop or {change.event for change in changes}
    return tuple(sorted(events)) if len(events) < 3 else (FRESH_AGENT,)


def _line(reason: str) -> str:
    if reason in _SPEC_REASONS:
        return BAD_SPEC
    if reason not in set(Outcome):
        return reason
    row = TABLE[Outcome(reason)]
    return COUNTED if row.counts else str(row.next)

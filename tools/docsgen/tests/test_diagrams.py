"""The diagrams tell what the loop does in every small case, and nothing else."""

from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest

from afresh.contract.outcomes import TABLE
from afresh.contract.words import Outcome
from afresh.core.reasons import Reason
from tests.core.exploration.events import Cause
from tests.core.exploration.explore import Change, explored
from tools.docsgen import mermaid, phases, picture
from tools.docsgen.phases import ANY, END, START, Diagram, Edge

# Explored when a test asks: it takes seconds, and every run of any test collects this file.
each_diagram = pytest.mark.parametrize(
    ("diagram", "of"),
    [
        pytest.param(phases.SUBTASK, "subtasks", id="subtasks"),
        pytest.param(phases.PACKAGE, "packages", id="packages"),
    ],
)
SUMMARIES = {
    phases.COUNTED, phases.BAD_SPEC, phases.FRESH_AGENT, phases.STOPPED, phases.LATER,
    phases.LONG_WAIT,
}  # fmt: skip
ABOUT_THE_SPEC = {
    Reason.INVALID_SPEC, Reason.AGENT_CLASS_NOT_FOUND, Reason.BRANCH_IN_USE,
    Reason.IMAGE_NOT_ALLOWED, Reason.NOT_SUPPORTED, Reason.ABOVE_CEILING, Reason.ORDER_TOO_LARGE,
}  # fmt: skip
PASSES = {
    Reason.BACKING_OFF, Reason.EPISODE_NOT_STARTED, Reason.GATE_CLOSED, Reason.GIT_UNREACHABLE,
    Reason.IMAGE_NOT_PULLED,
}  # fmt: skip
WORKING = {"Running", "Queued"}


@pytest.fixture
def changes(of: str) -> frozenset[Change]:
    found: frozenset[Change] = getattr(explored(), of)
    return found


def words(edge: Edge) -> set[str]:
    """The names of reasons and events at an edge, and what stands for several."""
    return {
        word for line in edge.words for word in ([line] if line in SUMMARIES else line.split(", "))
    }


def names_of(change: Change) -> Iterator[str]:
    """The words by which an edge may tell a change."""
    yield from (change.reason, change.event)
    if change.reason in set(Outcome) and TABLE[Outcome(change.reason)].counts:
        yield phases.COUNTED
    if change.reason in ABOUT_THE_SPEC:
        yield phases.BAD_SPEC
    if change.reason in PASSES and change.target == "Stalled":
        yield phases.LONG_WAIT
    if change.reason == Reason.WAITING and change.source in WORKING:
        yield phases.STOPPED
    if change.target in WORKING:
        yield phases.FRESH_AGENT
    if change.target == "Queued":
        yield phases.LATER


def is_between(diagram: Diagram, change: Change, edge: Edge) -> bool:
    source, target = change.source or START, change.target or END
    groups = {name for name, members in diagram.groups.items() if source in members}
    return edge.source in {source, ANY, *groups} and edge.target in {target, ANY}


def is_told(diagram: Diagram, change: Change, edge: Edge) -> bool:
    """What leads to any phase is told in words of its own: whatever is due.

    Where the loop goes to work by itself, a person's event that has it go there is not named.
    """
    is_unnamed = change.target in WORKING and change.cause is Cause.PERSON and not edge.by_person
    matches = edge.target == ANY or is_unnamed or words(edge) & set(names_of(change))
    return is_between(diagram, change, edge) and bool(matches)


@each_diagram
def test_every_change_that_occurs_is_told_by_an_edge(diagram, changes) -> None:
    untold = [
        change
        for change in changes
        if not any(is_told(diagram, change, edge) for edge in diagram.edges)
    ]

    assert untold == []


@each_diagram
def test_every_word_of_every_edge_is_of_a_change_that_occurs(diagram, changes) -> None:
    for edge in diagram.edges:
        behind = [change for change in changes if is_between(diagram, change, edge)]
        assert behind, edge
        if edge.target != ANY:
            assert words(edge) <= {name for change in behind for name in names_of(change)}, edge


@each_diagram
def test_an_edge_is_dashed_where_only_a_person_brings_the_change_about(diagram, changes) -> None:
    for edge in diagram.edges:
        causes = {change.cause for change in changes if is_told(diagram, change, edge)}
        assert edge.by_person == (causes == {Cause.PERSON}), edge


@each_diagram
def test_the_picture_is_svg_with_every_phase_and_every_word_of_an_edge(diagram, changes) -> None:
    texts = {node.text for node in ET.fromstring(picture.render(diagram)).iter()}

    reached = {change.target for change in changes} - {""}
    assert texts >= reached == diagram.phases.keys() - {START, END, ANY}
    assert texts >= {word for edge in diagram.edges for word in edge.words}


def test_a_diagram_in_mermaid_names_phases_without_blanks() -> None:
    text = mermaid.render(phases.SUBTASK)

    assert "    any_phase --> [*]: Removed" in text.splitlines()


@pytest.mark.parametrize(
    "phase", ["Running", "Pending", "Stalled", "Suspended"], ids=lambda phase: f"in {phase}"
)
def test_a_package_that_is_created_may_begin(phase) -> None:
    assert phase in {change.target for change in explored().packages if not change.source}

from xml.etree import ElementTree as ET

import pytest

from tools.docsgen import edges, mermaid, picture, places
from tools.docsgen.edges import ANY, END, START, Edge, edges_of
from tools.docsgen.events import Cause
from tools.docsgen.explore import Change, explored

DIAGRAMS = [
    pytest.param(edges.SUBTASK, explored().subtasks, places.SUBTASK, id="subtasks"),
    pytest.param(edges.PACKAGE, explored().packages, places.PACKAGE, id="packages"),
]


def changes(*ends: str, reason: str = "Suspended") -> set[Change]:
    pairs = [item.split(">") for item in ends]
    return {Change(source, target, reason, "event", Cause.LOOP) for source, target in pairs}


@pytest.mark.parametrize(("diagram", "found", "layout"), DIAGRAMS)
def test_every_change_that_occurred_is_behind_an_edge(diagram, found, layout) -> None:
    drawn = {(edge.source, edge.target) for edge in edges_of(diagram, found)}
    groups = {member: name for name, members in diagram.groups.items() for member in members}

    for change in found:
        source, target = change.source or START, change.target or END
        sources = {source, groups.get(source, source), ANY}
        assert drawn & {(s, t) for s in sources for t in (target, ANY)}, change


@pytest.mark.parametrize(("diagram", "found", "layout"), DIAGRAMS)
def test_every_edge_has_a_place_in_the_picture(diagram, found, layout) -> None:
    drawn = {(edge.source, edge.target) for edge in edges_of(diagram, found)}

    assert drawn <= layout.edges.keys(), "give it a place in tools/docsgen/places.py"


@pytest.mark.parametrize(("diagram", "found", "layout"), DIAGRAMS)
def test_the_picture_is_svg_with_every_phase_and_every_word_of_an_edge(
    diagram, found, layout
) -> None:
    shown = edges_of(diagram, found)

    texts = {node.text for node in ET.fromstring(picture.render(diagram, shown, layout)).iter()}
    assert texts >= set(diagram.phases)
    assert texts >= {word for edge in shown for word in edge.words}


def test_an_interruption_that_comes_from_every_phase_is_one_edge_from_any_phase() -> None:
    others = [phase for phase in edges.PACKAGE.phases if phase != "Suspended"]

    found = edges_of(edges.PACKAGE, changes(*(f"{phase}>Suspended" for phase in others)))
    assert [(edge.source, edge.target) for edge in found] == [(ANY, "Suspended")]


def test_an_interruption_that_one_phase_never_has_is_not_drawn_from_any_phase() -> None:
    others = [phase for phase in edges.PACKAGE.phases if phase not in ("Suspended", "Failed")]

    found = edges_of(edges.PACKAGE, changes(*(f"{phase}>Suspended" for phase in others)))
    assert ANY not in {edge.source for edge in found}


def test_a_change_of_one_member_of_a_group_is_drawn_from_that_member() -> None:
    found = edges_of(edges.PACKAGE, changes("NeedsReview>Running", reason="EpisodeRunning"))

    assert [(edge.source, edge.target) for edge in found] == [("NeedsReview", "Running")]


def test_an_edge_without_a_place_is_drawn_as_a_straight_line() -> None:
    edge = Edge("Done", "Queued", ("why",), by_person=False)

    drawn = picture.render(edges.SUBTASK, [edge], places.SUBTASK)
    assert 'd="M760 102 L600 80"' in drawn


def test_a_diagram_in_mermaid_names_phases_without_blanks() -> None:
    edge = Edge(ANY, END, ("Removed",), by_person=True)

    text = mermaid.render(edges.SUBTASK, [edge])
    assert text.splitlines()[-1].strip() == "any_phase --> [*]: Removed"


@pytest.mark.parametrize(
    "phase", ["Running", "Pending", "Stalled", "Suspended"], ids=lambda phase: f"in {phase}"
)
def test_a_package_that_is_created_may_begin(phase) -> None:
    assert phase in {change.target for change in explored().packages if not change.source}


def test_what_follows_a_pause_is_one_edge_to_any_phase_in_words_of_its_own() -> None:
    found = edges_of(edges.PACKAGE, changes("Suspended>Running", "Suspended>Failed"))

    assert [(e.source, e.target, e.words) for e in found] == [
        ("Suspended", ANY, ("resumed, edited",))
    ]

"""The plan file: its text, and that no text of a user can break it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afresh.contract.order import PlanLine
from afresh.contract.plan_file import Plan, digest, parse, render, with_marker
from afresh.contract.text import one_line
from afresh.contract.words import Marker

GOLDEN = Path(__file__).parent / "golden"
PLAN = Plan(
    goal="Add token authentication to the API.",
    lines=(
        PlanLine(id="T001", title="Token model", marker=Marker.DONE),
        PlanLine(id="T002", title="Token <store> with a \\ in it", marker=Marker.RUNNING),
        PlanLine(id="T003", title="[x] `Guarded` API", marker=Marker.NEEDS_REVIEW),
        PlanLine(id="T004", title="", marker=Marker.SKIPPED),
        PlanLine(id="T005", title="Docs <!-- and more", marker=Marker.PENDING),
    ),
)
IDS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,19}", fullmatch=True)
TEXTS = st.text(max_size=60)
LINES = st.builds(PlanLine, id=IDS, title=TEXTS.map(one_line), marker=st.sampled_from(list(Marker)))
PLANS = st.builds(
    Plan,
    goal=TEXTS.map(one_line).filter(bool),
    lines=st.lists(LINES, max_size=8, unique_by=lambda line: line.id).map(tuple),
)


def test_plan_equals_its_golden_file():
    assert render(PLAN) == (GOLDEN / "PLAN.md").read_text()


@given(PLANS)
def test_plan_that_is_rendered_and_read_is_the_same_plan(plan: Plan):
    assert parse(render(plan)) == plan


@given(TEXTS, TEXTS)
def test_text_of_any_kind_is_one_line_of_the_plan(goal: str, title: str):
    plan = Plan(goal=goal, lines=(PlanLine(id="T001", title=title, marker=Marker.PENDING),))
    lines = render(plan).splitlines()

    assert len(lines) == len(render(PLAN).splitlines()) - len(PLAN.lines) + 1
    assert [line.id for line in parse(render(plan)).lines] == ["T001"]


@given(PLANS, st.data(), st.sampled_from(list(Marker)))
def test_changed_marker_changes_that_line_only(plan: Plan, data: st.DataObject, marker: Marker):
    if not plan.lines:
        return
    chosen = data.draw(st.sampled_from(plan.lines))

    changed = with_marker(render(plan), chosen.id, marker)

    want = tuple(
        PlanLine(id=line.id, title=line.title, marker=marker if line == chosen else line.marker)
        for line in plan.lines
    )
    assert parse(changed) == Plan(goal=plan.goal, lines=want)
    assert len(changed) == len(render(plan))


def test_lines_that_a_person_added_are_kept_when_a_marker_changes():
    text = render(PLAN) + "\nA remark.\n"

    changed = with_marker(text, "T002", Marker.DONE)

    assert changed == text.replace("- [~] T002", "- [x] T002")


def test_marker_of_an_unknown_subtask_is_refused():
    with pytest.raises(KeyError, match="T999"):
        with_marker(render(PLAN), "T999", Marker.DONE)


@given(PLANS, PLANS)
def test_digests_differ_if_and_only_if_plans_differ(one: Plan, other: Plan):
    same = render(one) == render(other)

    assert (digest(render(one)) == digest(render(other))) == same
    assert digest(render(one)).startswith("sha256:")

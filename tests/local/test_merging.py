"""Three sides make one package: what was applied, what has changed since, what is applied."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afresh.api.work_package import WorkPackage
from afresh.cli.edits import edit_of
from afresh.cli.requests import Guide, Request, Retry, Skip, Suspend
from afresh.local.json_patch import patched
from afresh.local.merging import merged, without_nulls
from tests.local.clones import package_manifest
from tests.make import NOW

TEXTS = st.sampled_from(["a", "b", "c"])
VALUES = st.one_of(TEXTS, st.booleans(), st.integers(2, 4), st.lists(TEXTS, max_size=2))
SUBTASKS = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from(["T1", "T2", "T3"])},
        optional={
            "prompt": TEXTS,
            "revision": st.integers(1, 3),
            "guidance": st.lists(TEXTS, unique=True, max_size=3),
            "verify": st.fixed_dictionaries({}, optional={"command": VALUES, "image": TEXTS}),
        },
    ),
    unique_by=lambda item: item["id"],
    max_size=3,
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "goal": TEXTS,
        "suspend": st.booleans(),
        "guidance": st.lists(TEXTS, unique=True, max_size=3),
        "context": st.fixed_dictionaries({}, optional={"mode": TEXTS, "resetInterval": VALUES}),
        "subtasks": SUBTASKS,
    },
)


@given(SPECS)
def test_first_manifest_is_taken_as_it_is(spec: Any):
    assert merged(None, None, spec) == spec


@given(last=SPECS, applied=SPECS)
def test_manifest_replaces_what_nobody_else_has_changed(last: Any, applied: Any):
    assert merged(last, last, applied) == applied


@given(last=SPECS, stored=SPECS, applied=SPECS)
def test_manifest_applied_twice_gives_what_it_gave_once(last: Any, stored: Any, applied: Any):
    once = merged(last, stored, applied)

    assert merged(applied, once, applied) == once


@given(last=SPECS, stored=SPECS, applied=SPECS)
def test_merging_changes_none_of_its_sides(last: Any, stored: Any, applied: Any):
    sides = (last, stored, applied)
    before = repr(sides)

    merged(*sides)

    assert repr(sides) == before


@given(last=SPECS, stored=SPECS, applied=SPECS)
def test_subtasks_of_the_manifest_come_first_and_those_it_had_and_lacks_are_gone(
    last: Any, stored: Any, applied: Any
):
    def ids(spec: Any) -> list[str]:
        return [item["id"] for item in spec.get("subtasks", [])]

    found = ids(merged(last, stored, applied | {"subtasks": applied.get("subtasks", [])}))

    others = [id for id in ids(stored) if id not in ids(last) and id not in ids(applied)]
    assert found == [*ids(applied), *others]


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(Guide(subtask="T2", directive="Use JWT."), id="guide"),
        pytest.param(Skip(subtasks=("T1",)), id="skip"),
        pytest.param(Retry(subtasks=("T1", "T2")), id="retry"),
        pytest.param(Suspend(suspend=True), id="suspend"),
    ],
)
def test_what_a_command_has_changed_stays_when_the_same_manifest_is_applied_again(
    request_: Request,
):
    manifest = package_manifest("T1", "T2", guidance=["Be brief."])
    edit = edit_of(request_, WorkPackage.model_validate(manifest), NOW)
    stored = patched(manifest, edit.operations)
    assert stored != manifest

    assert merged(manifest["spec"], stored["spec"], manifest["spec"]) == stored["spec"]


def test_directive_of_a_command_stays_when_the_manifest_changes_its_own():
    last, stored, applied = (
        {"guidance": texts} for texts in (["A", "B"], ["A", "B", "Told"], ["B", "C"])
    )

    assert merged(last, stored, applied) == {"guidance": ["B", "C", "Told"]}


def test_command_line_is_one_value():
    last, stored, applied = ({"verify": {"command": words}} for words in (["a"], ["a", "b"], ["c"]))

    assert merged(last, stored, applied) == applied


def test_null_stands_for_nothing():
    assert without_nulls({"a": None, "b": [{"c": None, "d": 1}]}) == {"b": [{"d": 1}]}

"""The patches of the commands, applied to a file in place of the API server."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afresh.api.work_package import CANCEL_ANNOTATION, RETRY_ANNOTATION, WorkPackage
from afresh.cli.edits import edit_of
from afresh.cli.requests import Cancel, Guide, Request, Retry, Skip, Suspend
from afresh.local.json_patch import PatchConflictError, patched
from tests.local.clones import package_manifest
from tests.make import NOW, make_record

ENTRIES = st.fixed_dictionaries(
    {"prompt": st.just("Do it.")},
    optional={
        "revision": st.integers(0, 4),
        "skip": st.booleans(),
        "guidance": st.lists(st.sampled_from(["Be brief.", "Use tabs."]), unique=True),
        "revisionReason": st.sampled_from(["Rejected", "Hallucination"]),
    },
)
REQUESTS = st.sampled_from(
    [
        Guide(subtask="T1", directive="Use JWT/OAuth ~ é."),
        Skip(subtasks=("T1", "T2")),
        Retry(subtasks=("T2",)),
        Suspend(suspend=True),
        Cancel(),
    ]
)


@st.composite
def packages(draw: st.DrawFn) -> dict[str, Any]:
    manifest = package_manifest()
    entries = [draw(ENTRIES) | {"id": id} for id in ("T1", "T2")]
    manifest["spec"]["subtasks"] = entries
    if draw(st.booleans()):
        manifest["spec"]["suspend"] = draw(st.booleans())
    if draw(st.booleans()):
        manifest["metadata"]["annotations"] = {"team": "a"}
    return manifest


@given(manifest=packages(), request_=REQUESTS)
def test_patch_of_a_command_makes_the_fields_that_the_command_names(
    manifest: dict[str, Any], request_: Request
):
    edit = edit_of(request_, WorkPackage.model_validate(manifest), NOW)

    result = patched(manifest, edit.operations)

    lines = edit.changed().get("spec", {})
    by_id = {item["id"]: item for item in result["spec"]["subtasks"]}
    for line in lines.get("subtasks", []):
        for name, value in line.items():
            assert by_id[line["id"]].get(name) == value
    if "suspend" in lines:
        assert result["spec"]["suspend"] == lines["suspend"]
    annotations = result["metadata"].get("annotations", {})
    assert annotations == manifest["metadata"].get("annotations", {}) | edit.annotations
    WorkPackage.model_validate(result)


@given(manifest=packages(), request_=REQUESTS)
def test_patch_leaves_its_document_as_it_was(manifest: dict[str, Any], request_: Request):
    before = copy.deepcopy(manifest)

    patched(manifest, edit_of(request_, WorkPackage.model_validate(manifest), NOW).operations)

    assert manifest == before


def test_retry_of_what_waits_for_a_person_and_of_a_stalled_package_is_applied():
    manifest = package_manifest("T1") | {
        "status": {
            "phase": "Stalled",
            "reviews": [{"id": "T1"}],
            "subtasks": [make_record("T1").to_manifest()],
        }
    }

    edit = edit_of(Retry(subtasks=()), WorkPackage.model_validate(manifest), NOW)

    result = patched(manifest, edit.operations)
    assert result["spec"]["subtasks"][0]["revision"] == 1
    assert RETRY_ANNOTATION in result["metadata"]["annotations"]


def test_cancel_of_a_package_with_other_annotations_keeps_them():
    manifest = package_manifest("T1")
    manifest["metadata"]["annotations"] = {"team": "a"}

    edit = edit_of(Cancel(), WorkPackage.model_validate(manifest), NOW)

    result = patched(manifest, edit.operations)["metadata"]["annotations"]
    assert set(result) == {"team", CANCEL_ANNOTATION}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"revision": 5}, id="revision raised"),
        pytest.param({"id": "T9"}, id="another subtask in its place"),
    ],
)
def test_patch_of_a_package_that_has_changed_meanwhile_is_refused(changes: dict[str, Any]):
    manifest = package_manifest("T1")
    request = Guide(subtask="T1", directive="Use JWT.")
    edit = edit_of(request, WorkPackage.model_validate(manifest), NOW)
    manifest["spec"]["subtasks"][0] |= changes

    with pytest.raises(PatchConflictError):
        patched(manifest, edit.operations)


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "remove", "path": "/a/x"}, id="removal of nothing"),
        pytest.param({"op": "add", "path": "/x/y", "value": 1}, id="addition below nothing"),
        pytest.param({"op": "test", "path": "/list/7", "value": 1}, id="test past the end"),
        pytest.param({"op": "replace", "path": "/a", "value": 1}, id="unknown operation"),
    ],
)
def test_operation_that_does_not_fit_is_refused(operation: dict[str, Any]):
    with pytest.raises(PatchConflictError):
        patched({"a": {}, "list": [1]}, [operation])


def test_items_are_added_at_the_end_and_in_between_and_removed():
    operations = [
        {"op": "add", "path": "/list/-", "value": 4},
        {"op": "add", "path": "/list/1", "value": 2},
        {"op": "remove", "path": "/list/0"},
    ]

    assert patched({"list": [1, 3]}, operations) == {"list": [2, 3, 4]}

"""From a request and a package to one patch: what it changes, what it rests on, what it refuses."""

from typing import Any

import pytest

from afresh.api.phases import PackagePhase, RevisionReason, SubtaskPhase
from afresh.api.work_package import CANCEL_ANNOTATION, RETRY_ANNOTATION
from afresh.cli.edits import MAX_DIRECTIVES, Edit, edit_of
from afresh.cli.requests import Cancel, CommandError, Guide, Request, Retry, Skip, Suspend
from tests.make import NOW, make_entry, make_package, make_record

AB = [make_entry("A"), make_entry("B", guidance=["Be brief."], revision=2)]


def additions(edit: Edit) -> dict[str, Any]:
    return {op["path"]: op["value"] for op in edit.operations if op["op"] == "add"}


def rests_on(edit: Edit) -> dict[str, Any]:
    return {op["path"]: op["value"] for op in edit.operations if op["op"] == "test"}


def status(*reviews: str, **fields: Any) -> dict[str, Any]:
    return {"reviews": [{"id": id} for id in reviews], **fields}


def record(id: str, **fields: Any) -> dict[str, Any]:
    return make_record(id, **fields).to_manifest()


def test_directive_is_added_after_those_that_are_there_and_the_revision_rises():
    edit = edit_of(Guide(subtask="B", directive="Use JWT."), make_package(AB), NOW)

    assert additions(edit) == {
        "/spec/subtasks/1/guidance/-": "Use JWT.",
        "/spec/subtasks/1/revision": 3,
    }
    want = {"id": "B", "guidance": ["Be brief.", "Use JWT."], "revision": 3}
    assert edit.lines == {"spec": {"subtasks": [want]}}


def test_patch_rests_on_the_subtask_and_on_its_revision_as_they_were_read():
    edit = edit_of(Guide(subtask="B", directive="Use JWT."), make_package(AB), NOW)

    assert rests_on(edit) == {"/spec/subtasks/1/id": "B", "/spec/subtasks/1/revision": 2}


def test_field_that_the_package_does_not_have_is_tested_to_be_absent():
    edit = edit_of(Guide(subtask="A", directive="Use JWT."), make_package(AB), NOW)

    assert rests_on(edit)["/spec/subtasks/0/guidance"] is None
    assert additions(edit)["/spec/subtasks/0/guidance"] == ["Use JWT."]


def test_revision_that_an_older_manifest_has_lowered_rises_above_the_one_that_was_run():
    package = make_package(AB, status={"subtasks": [record("B", observed_revision=7)]})

    edit = edit_of(Retry(subtasks=("B",)), package, NOW)

    assert additions(edit) == {"/spec/subtasks/1/revision": 8}


def test_several_subtasks_are_changed_by_one_patch_and_one_named_twice_only_once():
    edit = edit_of(Skip(subtasks=("B", "A", "B")), make_package(AB), NOW)

    assert additions(edit) == {"/spec/subtasks/1/skip": True, "/spec/subtasks/0/skip": True}
    assert edit.message == "B, A are left out; subtasks that depend on it continue."


def test_subtask_that_is_left_out_already_is_not_changed():
    package = make_package([make_entry("A", skip=True)])

    edit = edit_of(Skip(subtasks=("A",)), package, NOW)

    assert (edit.operations, edit.message) == ((), "A is left out already.")


def test_subtask_that_is_left_out_is_taken_back_in_when_it_is_to_run_again():
    package = make_package([make_entry("A", skip=True)])

    edit = edit_of(Retry(subtasks=("A",)), package, NOW)

    assert additions(edit) == {"/spec/subtasks/0/revision": 1, "/spec/subtasks/0/skip": False}
    assert edit.lines == {"spec": {"subtasks": [{"id": "A", "revision": 1, "skip": False}]}}


def test_directive_for_a_subtask_that_is_left_out_is_added_and_says_that_it_stays_so():
    package = make_package([make_entry("A", skip=True)])

    edit = edit_of(Guide(subtask="A", directive="Use JWT."), package, NOW)

    assert "It stays left out while skip is true." in edit.message
    assert "/spec/subtasks/0/skip" not in additions(edit)


def test_retry_because_of_what_a_review_found_sets_the_reason_with_the_revision():
    edit = edit_of(Retry(subtasks=("B",), because=RevisionReason.REJECTED), make_package(AB), NOW)

    assert additions(edit) == {
        "/spec/subtasks/1/revision": 3,
        "/spec/subtasks/1/revisionReason": "Rejected",
    }
    assert rests_on(edit)["/spec/subtasks/1/revisionReason"] is None


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(Retry(subtasks=("A",)), id="retry"),
        pytest.param(Guide(subtask="A", directive="Use JWT."), id="guide"),
    ],
)
def test_reason_of_an_earlier_revision_is_removed_with_the_next_one(request_: Request):
    package = make_package([make_entry("A", revision=1, revisionReason="Rejected")])

    edit = edit_of(request_, package, NOW)

    path = "/spec/subtasks/0/revisionReason"
    assert {"op": "remove", "path": path} in edit.operations
    assert rests_on(edit)[path] == "Rejected"
    assert edit.changed()["spec"]["subtasks"][0]["revisionReason"] is None


def test_change_of_annotations_and_fields_is_told_as_one_partial_manifest():
    package = make_package(AB, status=status("B", phase=PackagePhase.STALLED))

    edit = edit_of(Retry(), package, NOW)

    assert edit.changed() == {
        "metadata": {"annotations": {RETRY_ANNOTATION: "2030-01-02T03:04:05.000000Z"}},
        "spec": {"subtasks": [{"id": "B", "revision": 3}]},
    }


def test_change_that_is_not_needed_is_told_as_no_change():
    package = make_package([make_entry("A", skip=True)])

    assert edit_of(Skip(subtasks=("A",)), package, NOW).changed() == {}


def test_retry_of_no_subtask_in_particular_is_about_all_that_wait_for_a_person():
    package = make_package(AB, status=status("B", "Gone", phase=PackagePhase.NEEDS_REVIEW))

    edit = edit_of(Retry(), package, NOW)

    assert additions(edit) == {"/spec/subtasks/1/revision": 3}


def test_retry_of_a_stalled_package_asks_it_to_go_on():
    package = make_package(AB, status=status(phase=PackagePhase.STALLED))

    edit = edit_of(Retry(), package, NOW)

    path = f"/metadata/annotations/{RETRY_ANNOTATION.replace('/', '~1')}"
    assert additions(edit) == {"/metadata/annotations": {}, path: "2030-01-02T03:04:05.000000Z"}
    assert rests_on(edit) == {"/metadata/annotations": None}
    assert edit.lines is None


def test_retry_of_a_stalled_package_runs_what_waits_for_a_person_too():
    package = make_package(AB, status=status("B", phase=PackagePhase.STALLED))

    edit = edit_of(Retry(), package, NOW)

    assert additions(edit)["/spec/subtasks/1/revision"] == 3
    assert len(additions(edit)) == 3


@pytest.mark.parametrize(
    ("current", "suspend", "want"),
    [
        pytest.param(
            "A", False,
            "token-auth: A is asked to stop. To stop it from continuing, run afresh"
            " suspend token-auth.",
            id="one runs",
        ),
        pytest.param("A", True, "token-auth: A is asked to stop.", id="suspended"),
        pytest.param("", True, "token-auth: nothing was running just now.", id="nothing runs"),
    ],
)  # fmt: skip
def test_cancel_is_one_annotation_and_says_what_it_is_about(current: str, suspend: bool, want: str):
    package = make_package(
        AB, status={"current": current}, metadata={"annotations": {"a": "b"}}, suspend=suspend
    )

    edit = edit_of(Cancel(), package, NOW.replace(microsecond=42))

    path = f"/metadata/annotations/{CANCEL_ANNOTATION.replace('/', '~1')}"
    assert additions(edit) == {path: "2030-01-02T03:04:05.000042Z"}
    assert edit.message == want


@pytest.mark.parametrize("suspend", [True, False])
def test_suspend_changes_one_field_and_nothing_where_it_is_so_already(suspend: bool):
    other = make_package(AB, suspend=not suspend)
    same = make_package(AB, suspend=suspend)

    assert additions(edit_of(Suspend(suspend=suspend), other, NOW)) == {"/spec/suspend": suspend}
    assert edit_of(Suspend(suspend=suspend), same, NOW).operations == ()


FULL = [f"Rule {number}." for number in range(MAX_DIRECTIVES)]
REFUSED = [
    pytest.param(Skip(subtasks=("A", "C")), 'no subtask "C"; it has A, B', id="unknown subtask"),
    pytest.param(Guide(subtask="B", directive="Be brief."), "has this directive already",
                 id="directive given already"),
    pytest.param(Guide(subtask="D", directive="Use JWT."), "20 directives, and no more are allowed",
                 id="too many directives"),
    pytest.param(Skip(subtasks=("A", "E")), "E is done: there is nothing left to skip",
                 id="done already"),
    pytest.param(Retry(), "No subtask of token-auth waits for a person", id="nothing waits"),
    pytest.param(Retry(because=RevisionReason.REJECTED), "No subtask of token-auth waits for a",
                 id="a reason and nothing that it is about"),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "want"), REFUSED)
def test_request_that_makes_no_sense_is_refused_with_the_remedy(request_: Request, want: str):
    package = make_package(
        [*AB, make_entry("D", guidance=FULL), make_entry("E")],
        status={"subtasks": [record("E", phase=SubtaskPhase.DONE, reason="Verified")]},
    )

    with pytest.raises(CommandError) as caught:
        edit_of(request_, package, NOW)

    assert want in str(caught.value)

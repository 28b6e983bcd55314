"""The folder that stands for the API server: generations, versions, the status, whole files."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from afresh.api.agent_class import AgentClassStatus
from afresh.api.package_status import WorkPackageStatus
from afresh.api.phases import PackagePhase
from afresh.api.subtask import SubtaskObjectStatus
from afresh.api.work_package import CANCEL_ANNOTATION, RETRY_ANNOTATION
from afresh.local.json_patch import PatchConflictError
from afresh.local.store import PackageStore
from tests.api.edits import ALLOWED_EDITS, REPOSITORY_EDITS, edited_repository
from tests.api.manifests import changed, entry, minimal_package
from tests.local.clones import class_manifest, package_manifest

SUSPEND = {"op": "add", "path": "/spec/suspend", "value": True}
STATUS = WorkPackageStatus(phase=PackagePhase.RUNNING)


@pytest.fixture
def store(tmp_path: Path) -> PackageStore:
    return PackageStore(tmp_path / "demo")


def test_new_package_has_what_the_api_server_gives_it(store: PackageStore):
    package = store.apply(package_manifest("T1"))

    metadata = package.metadata
    assert (metadata.generation, metadata.resource_version, metadata.namespace) == (1, "1", "local")
    assert metadata.uid
    assert metadata.creation_timestamp
    assert store.package() == package


def test_change_of_the_spec_raises_the_generation_and_keeps_uid_and_status(store: PackageStore):
    first = store.apply(package_manifest("T1"))
    store.put_package_status(STATUS)

    second = store.apply(package_manifest("T1", "T2"))

    assert second.metadata.generation == 2
    assert second.metadata.resource_version == "3"
    assert second.metadata.uid == first.metadata.uid
    assert second.metadata.creation_timestamp == first.metadata.creation_timestamp
    assert second.status == STATUS


def test_change_of_the_status_raises_the_resource_version_alone(store: PackageStore):
    store.apply(package_manifest("T1"))

    store.put_package_status(STATUS)

    metadata = store.package().metadata
    assert (metadata.generation, metadata.resource_version) == (1, "2")


def test_same_manifest_changes_nothing(store: PackageStore):
    first = store.apply(package_manifest("T1"))

    assert store.apply(package_manifest("T1")) == first


def test_status_in_a_manifest_is_not_taken_over(store: PackageStore):
    manifest = package_manifest("T1") | {"status": {"phase": "Succeeded"}}

    assert store.apply(manifest).status.phase is None


def test_identity_in_a_manifest_is_not_taken_over(store: PackageStore):
    manifest = changed(package_manifest("T1"), {"metadata.uid": "mine", "metadata.generation": 7})

    metadata = store.apply(manifest).metadata

    assert metadata.uid != "mine"
    assert metadata.generation == 1


def test_request_of_a_command_stays_when_the_manifest_is_applied_again(store: PackageStore):
    store.apply(package_manifest("T1"))
    key = CANCEL_ANNOTATION.replace("/", "~1")
    store.patch(
        [
            {"op": "add", "path": "/metadata/annotations", "value": {}},
            {"op": "add", "path": f"/metadata/annotations/{key}", "value": "now"},
        ]
    )

    package = store.apply(package_manifest("T1", "T2"))

    assert package.metadata.annotations == {CANCEL_ANNOTATION: "now"}
    assert package.metadata.generation == 2


def test_retry_is_asked_for_beside_other_annotations_and_is_no_change_of_the_spec(
    store: PackageStore,
):
    store.apply(changed(package_manifest("T1"), {"metadata.annotations": {"team": "a"}}))

    store.ask_retry("now")

    metadata = store.package().metadata
    assert metadata.annotations == {"team": "a", RETRY_ANNOTATION: "now"}
    assert metadata.generation == 1


def test_patch_changes_the_spec_and_is_counted(store: PackageStore):
    store.apply(package_manifest("T1"))

    store.patch([SUSPEND])

    package = store.package()
    assert package.spec.suspend
    assert package.metadata.generation == 2


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        pytest.param(
            {"op": "test", "path": "/spec/goal", "value": "X"}, PatchConflictError, id="stale"
        ),
        pytest.param({"op": "remove", "path": "/spec/verify"}, ValueError, id="breaks a rule"),
        pytest.param(
            {"op": "add", "path": "/spec/repository/branch", "value": "other"},
            ValueError,
            id="moves the work to another branch",
        ),
    ],
)
def test_patch_that_is_refused_changes_nothing(
    operation: dict[str, Any], error: type[Exception], store: PackageStore
):
    before = store.apply(package_manifest("T1"))

    with pytest.raises(error):
        store.patch([SUSPEND, operation])

    assert store.package() == before


@pytest.mark.parametrize("repository", REPOSITORY_EDITS)
def test_repository_changed_is_refused_as_by_the_api_server(
    repository: dict[str, str], store: PackageStore
):
    before = store.apply(edited_repository())

    with pytest.raises(ValueError, match="url, baseRef and branch of spec"):
        store.apply(edited_repository(repository))

    assert store.package() == before


@pytest.mark.parametrize("changes", ALLOWED_EDITS)
def test_anything_else_changed_is_accepted(changes: dict[str, Any], store: PackageStore):
    manifest = changed(minimal_package(), {"spec.subtasks": [entry("T001", revision=2)]})
    store.apply(manifest)

    package = store.apply(changed(manifest, changes))

    assert package.metadata.generation in (1, 2)


def test_manifest_that_breaks_a_rule_is_refused_and_changes_nothing(store: PackageStore):
    before = store.apply(package_manifest("T1"))

    with pytest.raises(ValueError, match="dependsOn names a subtask that does not exist"):
        store.apply(changed(package_manifest(), {"spec.subtasks": [entry("T2", dependsOn=["T1"])]}))

    assert store.package() == before


def test_subtasks_are_stored_with_their_status_and_removed(store: PackageStore):
    for name in ("demo-t2", "demo-t1"):
        spec = entry(name[-2:].upper()) | {"workPackageName": "demo"}
        store.put_subtask({"metadata": {"name": name}, "spec": spec})
    store.put_subtask_status("demo-t1", SubtaskObjectStatus(message="Here."))
    assert [(item.metadata.name, item.status.message) for item in store.subtasks()] == [
        ("demo-t1", "Here."),
        ("demo-t2", ""),
    ]

    store.delete_subtask("demo-t1")
    store.put_subtask_status("demo-t1", SubtaskObjectStatus(message="Late."))

    assert [item.metadata.name for item in store.subtasks()] == ["demo-t2"]


def test_class_keeps_its_status_when_it_is_stored_again(store: PackageStore):
    store.put_class(class_manifest("true"))
    gate = {"namespace": "local", "secretName": "key", "reason": "RateLimited"}
    times = {"since": "2030-01-02T03:04:05Z", "until": "2030-01-02T03:04:05Z"}
    status = AgentClassStatus.model_validate({"gates": [gate | times]})
    store.put_class_status(status)

    store.put_class(class_manifest("false"))

    found = store.agent_class()
    assert found
    assert (found.spec.command, found.status) == (("false",), status)


def test_write_that_a_kill_has_cut_off_is_never_read_and_cleared_away(store: PackageStore):
    package = store.apply(package_manifest("T1"))
    spec = entry("T1", workPackageName="demo")
    store.put_subtask({"metadata": {"name": "demo-t1"}, "spec": spec})
    for folder in (store.folder, store.folder / "subtasks"):
        (folder / ".package.json.x1").write_text('{"half')
        (folder / ".demo-t1.json.x2").write_text("")

    assert store.package() == package
    assert len(store.subtasks()) == 1
    store.clear()

    assert not list(store.folder.rglob(".*"))


def test_reader_sees_one_of_the_versions_whole_while_others_write(store: PackageStore):
    store.apply(package_manifest("T1"))
    writers = [threading.Thread(target=_set_goal, args=(store, letter * 400)) for letter in "abcd"]
    for writer in writers:
        writer.start()

    seen = set()
    while any(writer.is_alive() for writer in writers):
        seen.add(store.package().spec.goal)

    assert all(len(set(goal)) <= 1 for goal in seen)
    # Each writer's changes are all there: none has replaced a version that it had not read.
    assert store.package().metadata.generation == 1 + 4 * 5


def _set_goal(store: PackageStore, goal: str) -> None:
    for number in range(5):
        store.patch([{"op": "add", "path": "/spec/goal", "value": goal + goal[0] * number}])


def test_deleted_package_is_not_there(store: PackageStore):
    store.apply(package_manifest("T1"))

    store.delete()

    assert not store.exists
    assert store.apply(package_manifest("T1")).metadata.generation == 1


def test_manifest_that_is_applied_is_kept_as_it_is_for_the_next_merge(store: PackageStore):
    manifest = package_manifest("T1")
    store.apply(manifest)
    store.patch([SUSPEND])

    assert json.loads((store.folder / "applied.json").read_text()) == manifest
    assert store.apply(changed(manifest, {"spec.goal": "More."})).spec.suspend

"""What may change in the life of a package, and how two writers share it."""

import json
from typing import Any

import pytest

from tests.api.edits import ALLOWED_EDITS, REPOSITORY_EDITS, edited_repository
from tests.api.manifests import changed, entry, minimal_package
from tests.apiserver.kubectl import Kubectl, Manifest

pytestmark = pytest.mark.apiserver


@pytest.mark.parametrize("repository", REPOSITORY_EDITS)
def test_repository_changed_is_refused_with_what_to_do(
    repository: dict[str, str], kubectl: Kubectl, namespace: str
) -> None:
    kubectl.apply(edited_repository(), namespace)

    answer = kubectl.run("apply", "-n", namespace, manifest=edited_repository(repository))

    assert answer.returncode == 1
    assert (
        "url, baseRef and branch of spec.repository cannot be changed: create a new WorkPackage"
        in answer.stderr
    )


@pytest.mark.parametrize("changes", ALLOWED_EDITS)
def test_anything_else_changed_is_accepted(
    changes: dict[str, Any], kubectl: Kubectl, namespace: str
) -> None:
    manifest = changed(minimal_package(), {"spec.subtasks": [entry("T001", revision=2)]})
    kubectl.apply(manifest, namespace)

    answer = kubectl.apply(changed(manifest, changes), namespace)

    assert answer == "workpackage.afresh.dev/demo configured\n"


def test_edit_that_breaks_a_rule_is_refused_and_changes_nothing(
    kubectl: Kubectl, namespace: str
) -> None:
    manifest = changed(
        minimal_package(), {"spec.subtasks": [entry("T1"), entry("T2", dependsOn=["T1"])]}
    )
    kubectl.apply(manifest, namespace)

    answer = kubectl.run(
        "apply", "-n", namespace,
        manifest=changed(manifest, {"spec.subtasks": [entry("T2", dependsOn=["T1"])]}),
    )  # fmt: skip

    assert answer.returncode == 1
    assert "dependsOn names a subtask that does not exist" in answer.stderr
    assert _ids(kubectl, namespace) == ["T1", "T2"]


def test_second_writer_adds_a_subtask_and_both_are_kept(kubectl: Kubectl, namespace: str) -> None:
    _apply_as("team", minimal_package(), kubectl, namespace)

    _apply_as("bot", _only_subtask(entry("T002", dependsOn=["T001"])), kubectl, namespace)

    assert _ids(kubectl, namespace) == ["T001", "T002"]


def test_second_writer_takes_its_subtask_away_and_the_other_stays(
    kubectl: Kubectl, namespace: str
) -> None:
    _apply_as("team", minimal_package(), kubectl, namespace)
    _apply_as("bot", _only_subtask(entry("T002")), kubectl, namespace)

    _apply_as("bot", _only_subtask(entry("T003")), kubectl, namespace)

    assert _ids(kubectl, namespace) == ["T001", "T003"]


def test_second_writer_of_the_same_prompt_gets_a_conflict(kubectl: Kubectl, namespace: str) -> None:
    _apply_as("team", minimal_package(), kubectl, namespace)

    answer = kubectl.run(
        "apply", "--server-side", "--field-manager=bot", "-n", namespace,
        manifest=_only_subtask(entry("T001", prompt="Something else.")),
    )  # fmt: skip

    assert answer.returncode == 1
    assert 'conflict with "team": .spec.subtasks[id="T001"].prompt' in answer.stderr


def test_guidance_of_two_writers_is_joined(kubectl: Kubectl, namespace: str) -> None:
    team = changed(minimal_package(), {"spec.guidance": ["Use JWT."]})
    _apply_as("team", team, kubectl, namespace)

    bot = {"apiVersion": "afresh.dev/v1alpha1", "kind": "WorkPackage", "metadata": {"name": "demo"}}
    _apply_as("bot", bot | {"spec": {"guidance": ["Keep it small."]}}, kubectl, namespace)

    stored = kubectl.get("wp", "demo", namespace)
    assert stored["spec"]["guidance"] == ["Use JWT.", "Keep it small."]


def _only_subtask(item: Manifest) -> Manifest:
    return {
        "apiVersion": "afresh.dev/v1alpha1",
        "kind": "WorkPackage",
        "metadata": {"name": "demo"},
        "spec": {"subtasks": [item]},
    }


def _apply_as(writer: str, manifest: Manifest, kubectl: Kubectl, namespace: str) -> None:
    kubectl(
        "apply", "--server-side", f"--field-manager={writer}", "-n", namespace, manifest=manifest
    )  # fmt: skip


def _ids(kubectl: Kubectl, namespace: str) -> list[str]:
    stored = json.loads(kubectl("get", "wp", "demo", "-n", namespace, "-o", "json"))
    return [item["id"] for item in stored["spec"]["subtasks"]]

"""What users see of a status, and who may write it."""

import pytest

from afresh.api.work_package import WorkPackage
from tests.api.manifests import changed, examples, minimal_class, minimal_package
from tests.apiserver.kubectl import Kubectl, Manifest

pytestmark = pytest.mark.apiserver

READY: Manifest = {"conditions": [{"type": "Ready", "status": "True", "reason": "Succeeded"}]}


def test_status_in_a_manifest_applied_is_ignored(kubectl: Kubectl, namespace: str) -> None:
    kubectl.apply(changed(minimal_package(), {"status.phase": "Succeeded"}), namespace)

    assert "status" not in kubectl.get("wp", "demo", namespace)


def test_status_written_leaves_spec_and_generation_alone(kubectl: Kubectl, namespace: str) -> None:
    kubectl.apply(minimal_package(), namespace)
    before = kubectl.get("wp", "demo", namespace)

    kubectl.patch_status("wp", "demo", namespace, {"phase": "Running"})

    after = kubectl.get("wp", "demo", namespace)
    assert after["status"] == {"phase": "Running"}
    assert after["spec"] == before["spec"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"] == 1


def test_spec_applied_again_leaves_the_status_alone(kubectl: Kubectl, namespace: str) -> None:
    kubectl.apply(minimal_package(), namespace)
    kubectl.patch_status("wp", "demo", namespace, {"phase": "Running"})

    kubectl.apply(changed(minimal_package(), {"spec.goal": "More."}), namespace)

    after = kubectl.get("wp", "demo", namespace)
    assert after["status"] == {"phase": "Running"}
    assert after["metadata"]["generation"] == 2


def test_status_of_the_models_written_is_read_back_equal(kubectl: Kubectl, namespace: str) -> None:
    package = WorkPackage.model_validate(examples("work_package")[0])
    kubectl.apply(minimal_package(), namespace)

    kubectl.patch_status("wp", "demo", namespace, package.status.to_manifest())

    stored = WorkPackage.model_validate(kubectl.get("wp", "demo", namespace))
    assert stored.status == package.status


def test_unknown_phase_written_is_refused(kubectl: Kubectl, namespace: str) -> None:
    kubectl.apply(minimal_package(), namespace)

    answer = kubectl.run(
        "patch", "wp", "demo", "-n", namespace, "--subresource=status", "--type=merge",
        "-p", '{"status": {"phase": "Happy"}}',
    )  # fmt: skip

    assert answer.returncode == 1
    assert "status.phase: Unsupported value" in answer.stderr


def test_wait_for_ready_ends_when_the_status_says_so(kubectl: Kubectl, namespace: str) -> None:
    kubectl.apply(minimal_package(), namespace)
    waiting = kubectl.start(
        "wait", "--for=condition=Ready", "wp/demo", "-n", namespace, "--timeout=120s"
    )

    kubectl.patch_status("wp", "demo", namespace, READY)

    output, _ = waiting.communicate(timeout=180)
    assert (waiting.returncode, output) == (0, "workpackage.afresh.dev/demo condition met\n")


def test_wait_for_ready_of_a_failed_package_does_not_end_well(
    kubectl: Kubectl, namespace: str
) -> None:
    kubectl.apply(minimal_package(), namespace)
    failed = {"conditions": [{"type": "Ready", "status": "False", "reason": "NeedsReview"}]}
    kubectl.patch_status("wp", "demo", namespace, failed)

    answer = kubectl.run(
        "wait", "--for=condition=Ready", "wp/demo", "-n", namespace, "--timeout=1s"
    )

    assert answer.returncode == 1
    assert "timed out" in answer.stderr


def test_packages_listed_show_their_phases(kubectl: Kubectl, namespace: str) -> None:
    kubectl.apply(minimal_package(), namespace)
    status = {
        "phase": "Running",
        "progress": "2/5",
        "current": "T003",
        "reason": "EpisodeRunning",
        "cost": "$0.42",
    }
    kubectl.patch_status("wp", "demo", namespace, status)

    header, row = _table(kubectl("get", "wp", "-n", namespace))

    assert header == ["NAME", "PHASE", "PROGRESS", "CURRENT", "REASON", "COST", "AGE"]
    assert row[:-1] == ["demo", "Running", "2/5", "T003", "EpisodeRunning", "$0.42"]


def test_subtasks_listed_show_their_marker(kubectl: Kubectl, namespace: str) -> None:
    manifest = changed(
        examples("subtask")[0], {"metadata": {"name": "demo-t002", "namespace": namespace}}
    )
    kubectl.apply(manifest, namespace)
    status = manifest["status"] | {"duration": "1m05s"}
    kubectl.patch_status("st", "demo-t002", namespace, status)

    header, row = _table(kubectl("get", "st", "-n", namespace))

    assert header == [
        "NAME", "ID", "MARKER", "PHASE", "REASON", "ATTEMPTS", "DURATION", "COST", "STARTED",
    ]  # fmt: skip
    assert row == ["demo-t002", "T002", "[!]", "NeedsReview", "Blocked", "1", "1m05s", "$0.10"]


def test_classes_listed_show_what_they_run(kubectl: Kubectl, namespace: str) -> None:
    kubectl.apply(changed(minimal_class("shown"), {"spec.model": "sonnet"}), namespace)

    header, row = _table(kubectl("get", "ac", "shown"))

    assert header == ["NAME", "ADAPTER", "MODEL", "IMAGE", "READY", "AGE"]
    assert row[:-1] == ["shown", "Claude", "sonnet", "example/agent:1"]


def test_category_listed_shows_every_kind(kubectl: Kubectl, namespace: str) -> None:
    kubectl.apply(minimal_package(), namespace)
    kubectl.apply(minimal_class("in-category"), namespace)

    listed = kubectl("get", "afresh", "-n", namespace, "-o", "name").split()

    assert {"workpackage.afresh.dev/demo", "agentclass.afresh.dev/in-category"} <= set(listed)


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        ("spec.agentClassName=other", ["second"]),
        ("status.phase=Running", ["first"]),
        ("status.phase=Failed", []),
    ],
)
def test_packages_selected_by_a_field_are_those_that_have_it(
    selector: str, want: list[str], kubectl: Kubectl, namespace: str
) -> None:
    kubectl.apply(minimal_package("first"), namespace)
    kubectl.apply(changed(minimal_package("second"), {"spec.agentClassName": "other"}), namespace)
    kubectl.patch_status("wp", "first", namespace, {"phase": "Running"})

    listed = kubectl("get", "wp", "-n", namespace, f"--field-selector={selector}", "-o", "name")

    assert listed.split() == [f"workpackage.afresh.dev/{name}" for name in want]


def _table(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]

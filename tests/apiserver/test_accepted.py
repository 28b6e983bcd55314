"""The API server takes good manifests and fills in what the models would."""

import json
from pathlib import Path
from typing import Any

import pytest

from afresh.api.agent_class import AgentClass
from afresh.api.package_status import WorkPackageStatus
from afresh.api.work_package import WorkPackage
from tests.api.acceptances import ACCEPTANCES
from tests.api.manifests import (
    changed,
    examples,
    largest_package,
    minimal_class,
    minimal_package,
)
from tests.apiserver.kubectl import Kubectl

pytestmark = pytest.mark.apiserver


def test_minimal_package_applied_gets_the_defaults_of_the_model(
    kubectl: Kubectl, namespace: str
) -> None:
    manifest = minimal_package()

    kubectl.apply(manifest, namespace)

    stored = kubectl.get("wp", "demo", namespace)["spec"]
    by_model = WorkPackage.model_validate(manifest).to_manifest()["spec"]
    assert stored == _without_empties(by_model)


def test_minimal_class_applied_gets_the_defaults_of_the_model(
    kubectl: Kubectl, namespace: str
) -> None:
    manifest = minimal_class("minimal")

    kubectl.apply(manifest, namespace)

    stored = kubectl.get("ac", "minimal", namespace)["spec"]
    by_model = AgentClass.model_validate(manifest).to_manifest()["spec"]
    assert stored == _without_empties(by_model)


@pytest.mark.parametrize("name", ["work_package", "agent_class", "subtask"])
def test_full_example_applied_is_stored_as_it_is(
    name: str, kubectl: Kubectl, namespace: str
) -> None:
    for manifest in examples(name):
        # Classes are of no namespace, and other tests install those of the chart.
        own = f"{namespace}-{manifest['metadata']['name']}"
        manifest["metadata"] = {"name": own, "namespace": namespace}

        kubectl.apply(manifest, namespace)

        stored = kubectl.get(manifest["kind"], own, namespace)["spec"]
        assert stored == _filled(manifest["spec"], stored)


@pytest.mark.parametrize("changes", ACCEPTANCES)
def test_unusual_package_applied_is_accepted(changes: dict[str, Any], kubectl: Kubectl) -> None:
    manifest = changed(minimal_package(), changes)

    answer = kubectl("apply", "--dry-run=server", manifest=manifest)

    assert "created (server dry run)" in answer


def test_largest_package_applied_is_stored_whole(kubectl: Kubectl, namespace: str) -> None:
    manifest = largest_package()

    kubectl("apply", "--server-side", "-n", namespace, manifest=manifest)

    stored = WorkPackage.model_validate(kubectl.get("wp", "largest", namespace))
    assert stored.spec == WorkPackage.model_validate(manifest).spec


def test_largest_status_of_the_largest_package_written_is_stored(
    kubectl: Kubectl, namespace: str, tmp_path: Path
) -> None:
    manifest = largest_package()
    kubectl("apply", "--server-side", "-n", namespace, manifest=manifest)
    ids = [entry["id"] for entry in manifest["spec"]["subtasks"]]
    text = "界" * 5000
    status = WorkPackageStatus.model_validate(
        {
            "phase": "NeedsReview",
            "subtasks": [
                {"id": id_, "commit": "c" * 64, "reason": "R" * 64, "message": text} for id_ in ids
            ],
            "reviews": [{"id": id_, "reason": "R" * 64, "message": text} for id_ in ids],
            "conditions": [{"type": "Ready", "status": "False", "message": text}],
        }
    )
    patch = tmp_path / "patch.json"
    patch.write_text(json.dumps({"status": status.to_manifest()}))

    kubectl(
        "patch", "wp", "largest", "-n", namespace, "--subresource=status", "--type=merge",
        f"--patch-file={patch}",
    )  # fmt: skip

    stored = WorkPackage.model_validate(kubectl.get("wp", "largest", namespace))
    assert stored.status == status


def _without_empties(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_empties(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: _without_empties(item) for name, item in value.items()}
    return {name: item for name, item in kept.items() if item not in ("", [], {})}


def _filled(manifest: Any, stored: Any) -> Any:
    """Return `manifest` with what only `stored` has: the server's defaults."""
    if isinstance(manifest, list):
        return [_filled(item, other) for item, other in zip(manifest, stored, strict=True)]
    if not isinstance(manifest, dict):
        return manifest
    return stored | {key: _filled(value, stored[key]) for key, value in manifest.items()}

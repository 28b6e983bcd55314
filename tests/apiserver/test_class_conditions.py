"""The conditions of an AgentClass, written by the real operator on a real API server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.manifests import changed, minimal_class
from tests.apiserver.kubectl import Kubectl
from tests.apiserver.operator_process import OperatorProcess
from tests.apiserver.story import holds

pytestmark = pytest.mark.apiserver


@pytest.fixture
def operator(kubeconfig: Path, namespace: str, tmp_path: Path) -> Iterator[OperatorProcess]:
    process = OperatorProcess(kubeconfig, namespace, tmp_path / "operator.log")
    process.start()
    yield process
    process.kill()


def ready(kubectl: Kubectl, name: str) -> tuple[Any, ...] | None:
    """What the condition says and of which generation; None while there is none."""
    found = kubectl.get("ac", name, "default").get("status", {}).get("conditions", [])
    keys = ("status", "reason", "observedGeneration")
    return tuple(found[0][key] for key in keys) if found else None


async def test_class_says_whether_packages_can_use_it_and_what_to_change(
    operator: OperatorProcess, kubectl: Kubectl, namespace: str
) -> None:
    name = f"class-of-{namespace}"
    good = changed(minimal_class(), {"metadata.name": name})
    bad = changed(good, {"spec.ceilings": {"pidsLimit": 16}, "spec.pidsLimit": 17})

    kubectl.apply(bad, "default")
    await holds("it is refused", lambda: ready(kubectl, name) == ("False", "AboveCeiling", 1))
    kubectl.apply(good, "default")
    await holds("it is accepted", lambda: ready(kubectl, name) == ("True", "Accepted", 2))

    header, row = kubectl.run("get", "ac", name).stdout.splitlines()
    assert header.split()[-2:] == ["READY", "AGE"]
    assert row.split()[-2] == "True"


async def test_gates_stay_when_conditions_are_written(
    operator: OperatorProcess, kubectl: Kubectl, namespace: str
) -> None:
    name = f"gated-{namespace}"
    kubectl.apply(changed(minimal_class(), {"metadata.name": name}), "default")
    await holds("it is accepted", lambda: ready(kubectl, name) == ("True", "Accepted", 1))
    gate = {
        "namespace": namespace, "secretName": "key", "since": "2026-01-01T00:00:00Z",
        "until": "2026-01-01T01:00:00Z", "step": 1, "reason": "RateLimited",
    }  # fmt: skip
    kubectl.patch_status("ac", name, "default", {"gates": [gate]})

    kubectl.apply(
        changed(minimal_class(), {"metadata.name": name, "spec.ceilings": {"pidsLimit": 16}}),
        "default",
    )
    await holds("it is refused", lambda: ready(kubectl, name) == ("False", "AboveCeiling", 2))

    (kept,) = kubectl.get("ac", name, "default")["status"]["gates"]
    assert kept["secretName"] == "key"

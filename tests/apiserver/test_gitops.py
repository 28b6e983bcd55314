"""What GitOps tools do: render the charts, and apply the result on the server, again and again."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver.account import token
from tests.apiserver.kubectl import Kubectl
from tests.apiserver.operator_process import OperatorProcess
from tests.apiserver.story import holds
from tests.chart.helm import CRDS, OPERATOR, ROOT, Manifest, helm

pytestmark = pytest.mark.apiserver
RELEASE = "gitops"
NAME = f"{RELEASE}-operator"
VALUES = (
    "replicas=2", "admission.enabled=true", "agentClasses.gitops.adapter=Claude",
    "agentClasses.gitops.enabled=true", "scriptedModel.enabled=true",
    "scriptedModel.agentClass=gitops-scripted", "commonAnnotations.note=one",
)  # fmt: skip


def rendered(chart: str, release: str, namespace: str, *values: str) -> list[Manifest]:
    """Render a chart without a cluster."""
    settings = [word for value in values for word in ("--set", value)]
    done = helm("template", release, str(ROOT / "charts" / chart), "-n", namespace, *settings)
    assert done.returncode == 0, done.stderr
    return [item for item in yaml.safe_load_all(done.stdout) if item]


@dataclass(frozen=True)
class Source:
    """What a tool keeps on the cluster."""

    kubectl: Kubectl
    objects: tuple[Manifest, ...]

    def apply(self) -> dict[str, str]:
        """Apply everything, with no conflict; return the version of each object afterwards."""
        return self._versions("apply", "--server-side")

    def known(self) -> dict[str, str]:
        """Return the version of each object."""
        return self._versions("get")

    def _versions(self, *words: str) -> dict[str, str]:
        everything: dict[str, Any] = {"apiVersion": "v1", "kind": "List", "items": self.objects}
        found = json.loads(self.kubectl(*words, "-o", "json", manifest=everything))
        return {
            f"{item['kind']} {item['metadata']['name']}": item["metadata"]["resourceVersion"]
            for item in found["items"]
        }


@pytest.fixture
def source(kubectl: Kubectl, namespace: str) -> Iterator[Source]:
    """Return both charts' objects; at the end nothing of them is left but the CRDs."""
    crds = rendered(CRDS, CRDS, namespace)
    operator = rendered(OPERATOR, RELEASE, namespace, *VALUES, f"namespaces={{{namespace}}}")
    yield Source(kubectl, (*crds, *operator))
    everything: dict[str, Any] = {"apiVersion": "v1", "kind": "List", "items": operator}
    kubectl("delete", "--ignore-not-found", "--wait=false", manifest=everything)
    kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))


async def test_what_an_operator_writes_is_no_difference_to_a_tool_that_applies_the_charts(
    source: Source, kubectl: Kubectl, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    first = source.apply()
    account = token(kubectl, kubeconfig, tmp_path, name=NAME, namespace=namespace)
    settings = {
        "AFRESH_LEASE_NAME": NAME, "AFRESH_POD_IP": "127.0.0.1",
        "AFRESH_REPORT_SECRET": f"{NAME}-reports",
    }  # fmt: skip
    operator = OperatorProcess(account.kubeconfig, namespace, tmp_path / "log", settings)
    operator.start()
    try:
        await holds("it works", lambda: operator.probe("/readyz")[0] == 200)
        await holds("it writes", lambda: "conditions" in class_status(kubectl))
    finally:
        operator.stop()

    before = source.known()
    again = source.apply()

    changed = {name for name in first if first[name] != before[name]}
    secret = kubectl.get("secret", f"{NAME}-reports", namespace)
    assert changed >= {f"Lease {NAME}", f"Secret {NAME}-reports", "AgentClass gitops"}
    assert again == before
    assert secret["data"]["current"]
    assert len(again) > 30


def class_status(kubectl: Kubectl) -> Manifest:
    """What the operator has written to the class."""
    found = json.loads(kubectl("get", "agentclass", "gitops", "-o", "json"))
    status: Manifest = found.get("status", {})
    return status


def test_a_chart_is_rendered_the_same_each_time() -> None:
    once, twice = (rendered(OPERATOR, RELEASE, "x", *VALUES) for _ in range(2))

    assert once == twice

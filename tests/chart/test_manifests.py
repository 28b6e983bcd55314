"""The manifests for those who use no Helm are the charts', as a release would make them."""

import subprocess
from pathlib import Path

import pytest
import yaml

from tests.chart.helm import CRDS, OPERATOR, ROOT, SYSTEM, Manifest, binaries, one, render
from tools.release import manifests

FOLDER = ROOT / "deploy" / "manifests"


def built(folder: Path) -> list[Manifest]:
    """What `kubectl apply -k` applies, in its order."""
    command = [str(binaries.path("kubectl")), "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return list(yaml.safe_load_all(done.stdout))


def test_the_generated_files_are_current() -> None:
    stale = [path for path, text in manifests.texts().items() if path.read_text() != text]

    assert not stale, "run `make manifests`"


@pytest.mark.parametrize(
    ("folder", "values"),
    [
        pytest.param(".", (), id="all namespaces"),
        pytest.param("namespaced", ('namespaces=["team-a"]',), id="one namespace"),
    ],
)
def test_everything_of_both_charts_is_there_and_the_namespace_first(
    folder: str, values: tuple[str, ...]
) -> None:
    objects = built(FOLDER / folder)

    wanted = render(CRDS, "keep=false") + render(OPERATOR, *values)
    names = [(item["kind"], item["metadata"]["name"]) for item in objects]
    assert sorted(names) == sorted(
        [("Namespace", SYSTEM), *((item["kind"], item["metadata"]["name"]) for item in wanted)]
    )
    kinds = [kind for kind, _ in names]
    assert kinds.index("Namespace") < kinds.index("ServiceAccount")
    # A pod is told the addresses of the Services that are there before it.
    assert kinds.index("Service") < kinds.index("Deployment")


def test_the_operator_is_the_charts_in_its_own_namespace() -> None:
    objects, wanted = built(FOLDER), render()

    deployment = one(objects, "Deployment")
    assert deployment["spec"] == one(wanted, "Deployment")["spec"]
    assert deployment["metadata"]["namespace"] == SYSTEM
    labels = one(objects, "Namespace")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_for_one_namespace_no_right_on_packages_reaches_beyond_it() -> None:
    objects = built(FOLDER / "namespaced")

    roles = {item["metadata"]["name"]: item for item in objects if item["kind"] == "ClusterRole"}
    bound = [item["roleRef"]["name"] for item in objects if item["kind"] == "ClusterRoleBinding"]
    resources = {
        resource
        for name in bound
        for rule in roles[name]["rules"]
        for resource in rule["resources"]
    }
    assert resources == {"agentclasses", "agentclasses/status", "tokenreviews"}

"""Every YAML block that users may copy is one that the API server, or the chart, takes."""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from afresh.api.agent_class import AgentClass
from afresh.api.crd import KINDS, build_crd
from afresh.api.subtask import SubtaskObject
from afresh.api.work_package import WorkPackage
from tests.docs.kubernetes_fields import model_of, unknown_fields
from tests.docs.pages import ROOT, blocks
from tools.singlenode import binaries

MODELS = {"WorkPackage": WorkPackage, "AgentClass": AgentClass, "Subtask": SubtaskObject}
SCHEMAS = {
    kind.name: build_crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"] for kind in KINDS
}
# What a block with nothing but a spec leaves out.
REST = {
    "WorkPackage": {
        "agentClassName": "claude",
        "repository": {"url": "https://git.example.com/team/api.git"},
        "verify": {"command": ["make", "test"]},
        "subtasks": [{"id": "T001", "prompt": "Add a Token model."}],
    },
    "AgentClass": {"adapter": "Claude", "image": "registry.example.com/agent:1"},
}
KUEUE = "kueue.x-k8s.io/"


def documents() -> list[Any]:
    found = []
    for block in blocks():
        texts = [block.text] if block.language in ("yaml", "yml") else block.here_documents
        found += [
            pytest.param(item, id=f"{block.where}-{number}")
            for text in texts
            for number, item in enumerate(yaml.safe_load_all(text))
        ]
    return found


def unknown(node: Any, schema: dict[str, Any], where: str) -> list[str]:
    """The paths of fields that the schema does not know, which a parser leaves out in silence."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return []
    if isinstance(node, list):
        return [
            path
            for index, item in enumerate(node)
            for path in unknown(item, schema.get("items", {}), f"{where}[{index}]")
        ]
    fields = schema.get("properties")
    if not isinstance(node, dict) or fields is None:
        return []
    return [
        path
        for key, value in node.items()
        for path in (
            unknown(value, fields[key], f"{where}.{key}") if key in fields else [where + "." + key]
        )
    ]


def whole(block: dict[str, Any]) -> dict[str, Any]:
    """The object that a block with nothing but some of a spec is a part of."""
    if "kind" in block or "spec" not in block:
        return block
    kind = next(
        name
        for name in REST
        if block["spec"].keys() <= SCHEMAS[name]["properties"]["spec"]["properties"].keys()
    )
    metadata = {"name": "demo"}
    return {"kind": kind, "metadata": metadata, "spec": REST[kind] | block["spec"]}


@cache
def kueue_schema(kind: str, version: str) -> dict[str, Any]:
    """The schema of a kind of the Kueue that the tests' clusters have."""
    if binaries.missing(binaries.KUEUE):
        pytest.skip("kueue is not built: run `make kueue`")
    folder = binaries.KUEUE_MODULE.source() / "config" / "components" / "crd" / "bases"
    for path in folder.glob("*.yaml"):
        spec = yaml.safe_load(path.read_text())["spec"]
        if spec["names"]["kind"] == kind:
            found = next(item for item in spec["versions"] if item["name"] == version)
            schema: dict[str, Any] = found["schema"]["openAPIV3Schema"]
            return schema
    raise AssertionError(f"Kueue has no {kind}")


def check_values(values: dict[str, Any]) -> None:
    """A block without kind and spec holds values of the chart, which has a schema of them."""
    rendered("charts/afresh", values)


def rendered(chart: str, values: dict[str, Any]) -> str:
    """Return the manifests of a chart of the checkout with these values."""
    if binaries.missing(["helm"]):
        pytest.skip("helm is not built: run `python3 tools/singlenode install`")
    done = subprocess.run(
        [binaries.path("helm"), "template", "afresh", ROOT / chart, "-f", "-"],
        input=yaml.safe_dump(values), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_argo_application(manifest: dict[str, Any]) -> None:
    """Its chart takes the values, and has the objects whose differences are ignored."""
    source = manifest["spec"]["source"]
    values = source.get("helm", {}).get("valuesObject", {})
    objects = [item for item in yaml.safe_load_all(rendered(source["path"], values)) if item]
    names = {(item["kind"], item["metadata"]["name"]) for item in objects}
    ignored = manifest["spec"].get("ignoreDifferences", [])
    assert {(item["kind"], item["name"]) for item in ignored} <= names


def check_flux_release(manifest: dict[str, Any]) -> None:
    """Its chart takes the values."""
    spec = manifest["spec"]
    assert rendered(spec["chart"]["spec"]["chart"], spec.get("values", {}))


def check_kustomization(manifest: dict[str, Any], checkout: Path) -> None:
    """kubectl itself builds it, beside what it names of the checkout."""
    if binaries.missing(["kubectl"]):
        pytest.skip("kubectl is not built: run `python3 tools/singlenode install`")
    for path in manifest.get("resources", []):
        shutil.copytree(ROOT / path, checkout / path)
    (checkout / "kustomization.yaml").write_text(yaml.safe_dump(manifest))
    done = subprocess.run(
        [binaries.path("kubectl"), "kustomize", checkout],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def check_manifest(manifest: dict[str, Any], checkout: Path) -> None:
    kind = manifest["kind"]
    if kind == "Kustomization":
        check_kustomization(manifest, checkout)
    elif kind in MODELS:
        assert unknown(manifest["spec"], SCHEMAS[kind]["properties"]["spec"], "spec") == []
        assert MODELS[kind].model_validate(manifest)
    elif kind == "Application":
        check_argo_application(manifest)
    elif kind == "HelmRelease":
        check_flux_release(manifest)
    elif manifest["apiVersion"].startswith(KUEUE):
        schema = kueue_schema(kind, manifest["apiVersion"].removeprefix(KUEUE))
        assert unknown(manifest.get("spec", {}), schema["properties"].get("spec", {}), "spec") == []
    else:
        model = model_of(manifest)
        assert model is not None, f"nobody knows the kind {kind}: is its apiVersion right?"
        assert unknown_fields(manifest, model.__name__, kind) == []


@pytest.mark.parametrize("block", documents())
def test_a_yaml_block_of_the_documentation_is_accepted(block, tmp_path) -> None:
    manifest = whole(block)

    if "kind" in manifest:
        check_manifest(manifest, tmp_path)
    else:
        check_values(manifest)


def test_a_field_that_the_api_does_not_know_is_found() -> None:
    spec = {"subtasks": [{"id": "T001", "promt": "Do it."}]}

    found = unknown(spec, SCHEMAS["WorkPackage"]["properties"]["spec"], "spec")
    assert found == ["spec.subtasks[0].promt"]


def test_a_field_that_kubernetes_does_not_know_is_found() -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "rules": [{"apiGroups": [""], "resource": ["pods"], "verbs": ["get"]}],
    }

    assert unknown_fields(role, "V1Role", "Role") == ["Role.rules.0.resource"]


def test_values_that_the_chart_does_not_know_are_refused() -> None:
    with pytest.raises(AssertionError, match="replica"):
        check_values({"replica": 2})

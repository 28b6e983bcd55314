"""Every YAML block that users may copy is one that the API takes."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from afresh.api.agent_class import AgentClass
from afresh.api.crd import KINDS, build_crd
from afresh.api.work_package import WorkPackage

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```ya?ml\n(.*?)^```", re.MULTILINE | re.DOTALL)
MODELS = {"WorkPackage": WorkPackage, "AgentClass": AgentClass}
SCHEMAS = {
    kind.name: build_crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"] for kind in KINDS
}
# What a block with nothing but a spec leaves out.
REST = {
    "agentClassName": "claude",
    "repository": {"url": "https://git.example.com/team/api.git"},
    "verify": {"command": ["make", "test"]},
    "subtasks": [{"id": "T001", "prompt": "Add a Token model."}],
}


def blocks() -> list[Any]:
    found = []
    for page in PAGES:
        text = page.read_text()
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 2
            where = f"{page.relative_to(ROOT)} line {line}"
            found += [pytest.param(item, id=where) for item in yaml.safe_load_all(match[1])]
    return found


def unknown(node: Any, schema: dict[str, Any], where: str) -> list[str]:
    """The paths of fields that the schema does not know, which a parser leaves out in silence."""
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
    if "kind" in block:
        return block
    return {"kind": "WorkPackage", "metadata": {"name": "demo"}, "spec": REST | block["spec"]}


@pytest.mark.parametrize("block", blocks())
def test_a_yaml_block_of_the_documentation_is_accepted(block) -> None:
    manifest = whole(block)

    kind = manifest["kind"]
    assert unknown(manifest["spec"], SCHEMAS[kind]["properties"]["spec"], "spec") == []
    assert MODELS[kind].model_validate(manifest)


def test_a_field_that_the_api_does_not_know_is_found() -> None:
    spec = {"subtasks": [{"id": "T001", "promt": "Do it."}]}

    found = unknown(spec, SCHEMAS["WorkPackage"]["properties"]["spec"], "spec")
    assert found == ["spec.subtasks[0].promt"]

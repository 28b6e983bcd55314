"""The demo's package asks for the subtasks that the model has scripts for, and for nothing else."""

from pathlib import Path
from string import Template
from typing import Any

import yaml

from tools.fakemodel.tests.model_client import SUBTASKS

MANIFEST = Path(__file__).parents[1] / "manifests" / "work-package.yaml"


def read_package(path: Path) -> dict[str, Any]:
    spec: dict[str, Any] = yaml.safe_load(Template(path.read_text()).safe_substitute())["spec"]
    return spec


def test_the_package_of_the_demo_lists_the_scripted_subtasks() -> None:
    listed = read_package(MANIFEST)["subtasks"]

    want = [
        {**subtask, "verify": {"command": subtask["verify"]}, "dependsOn": subtask["dependsOn"]}
        for subtask in SUBTASKS
    ]
    got = [
        {
            **entry,
            "prompt": " ".join(entry["prompt"].split()),
            "dependsOn": entry.get("dependsOn", []),
        }
        for entry in listed
    ]
    assert got == want

"""The JSON Schemas of editors accept what the CRDs accept, and refuse what an editor can see."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from afresh.api.crd import KINDS, KindNames
from afresh.api.json_schema import editor_schema, file_name, main, render_schema
from tests.api.acceptances import ACCEPTANCES
from tests.api.manifests import EXAMPLES, Manifest, changed, entry, examples, minimal_class
from tests.api.manifests import minimal_package as package
from tests.docs.pages import blocks

SCHEMAS = Path(__file__).parents[2] / "schemas"
PROGRAM = [sys.executable, "-m", "check_jsonschema"]

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def verdicts(kind: str, manifests: list[Manifest], folder: Path) -> dict[str, Any]:
    """What a validator of JSON Schemas says of the manifests, as it would of files."""
    for number, manifest in enumerate(manifests):
        (folder / f"{number:03d}.json").write_text(json.dumps(manifest))
    files = sorted(map(str, folder.iterdir()))
    done = subprocess.run(
        [*PROGRAM, "--output-format", "json", "--schemafile", SCHEMAS / f"{kind}.schema.json",
         *files],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    said: dict[str, Any] = json.loads(done.stdout)
    assert not said.get("parse_errors"), said
    return said


@each_kind
def test_committed_schema_compared_with_the_models_is_current(kind: KindNames) -> None:
    assert (SCHEMAS / file_name(kind)).read_text() == render_schema(kind)


def test_schemas_folder_listed_holds_nothing_else() -> None:
    assert {path.name for path in SCHEMAS.iterdir()} == {file_name(kind) for kind in KINDS}


def test_schemas_checked_against_draft_2020_12_are_valid() -> None:
    done = subprocess.run(
        [*PROGRAM, "--check-metaschema", *SCHEMAS.iterdir()],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout


def test_schema_read_refuses_unknown_fields_at_every_level() -> None:
    open_objects = []

    def look(node: Any, path: str) -> None:
        if isinstance(node, dict):
            if "properties" in node and node.get("additionalProperties", True) is not False:
                open_objects.append(path)
            for key, value in node.items():
                look(value, f"{path}.{key}")

    for kind in KINDS:
        look(editor_schema(kind)["properties"]["spec"], kind.name)

    assert open_objects == []


def test_examples_and_unusual_packages_validated_are_accepted(tmp_path: Path) -> None:
    found = [changed(package(), case.values[0]) for case in ACCEPTANCES]

    said = verdicts("workpackage", [*found, *examples("work_package")], tmp_path)

    assert said["status"] == "ok", said["errors"]


def test_packages_of_the_documentation_validated_are_accepted(tmp_path: Path) -> None:
    texts = [
        text
        for block in blocks()
        for text in ([block.text] if block.language == "yaml" else block.here_documents)
    ]
    found = [item for text in texts for item in yaml.safe_load_all(text)]
    whole = [item for item in found if item.get("kind") == "WorkPackage" and "metadata" in item]
    assert whole

    said = verdicts("workpackage", whole, tmp_path)

    assert said["status"] == "ok", said["errors"]


def test_classes_validated_are_accepted(tmp_path: Path) -> None:
    text = (EXAMPLES / "agent_class.yaml").read_text()

    said = verdicts("agentclass", [*yaml.safe_load_all(text), minimal_class()], tmp_path)

    assert said["status"] == "ok", said["errors"]


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        pytest.param({"spec.subtaks": []}, "subtaks", id="unknown field"),
        pytest.param({"spec.subtasks": [entry("a/b")]}, "a/b", id="id with a slash"),
        pytest.param({"spec.subtasks": [entry("a.lock")]}, "a.lock", id="id that is no git ref"),
        pytest.param({"spec.parallelism": "2"}, "integer", id="number as text"),
        pytest.param({"spec.context.mode": "Fresh"}, "FreshPerSubtask", id="unknown mode"),
        pytest.param({"spec.resources.limits.cpu": "two"}, "two", id="bad quantity"),
        pytest.param({"spec.resources.limits.cpu": -1}, "-1", id="negative quantity"),
        pytest.param({"kind": "Package"}, "WorkPackage", id="another kind"),
        pytest.param({"spec.repository.url": "/srv/a.git"}, "/srv/a.git", id="URL that is a path"),
    ],
)
def test_wrong_package_validated_is_refused_naming_the_value(
    changes: dict[str, Any], want: str, tmp_path: Path
) -> None:
    said = verdicts("workpackage", [changed(package(), changes)], tmp_path)

    assert said["status"] == "fail"
    assert want in json.dumps(said["errors"])


def test_check_run_on_an_edited_schema_names_it_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 0
    assert main(["--check", str(tmp_path)]) == 0
    edited = tmp_path / "workpackage.schema.json"
    edited.write_text("{}")

    assert main(["--check", str(tmp_path)]) == 1

    assert str(edited) in capsys.readouterr().err
    assert edited.read_text() == "{}"

"""The CRDs are the models, in the form that an API server takes."""

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from afresh.api.agent_class import AgentClass
from afresh.api.crd import KINDS, KindNames, build_crd, main, render
from afresh.api.work_package import WorkPackage
from tests.api.manifests import (
    Manifest,
    changed,
    entry,
    examples,
    minimal_class,
    minimal_package,
)

CRDS = Path(__file__).parents[2] / "crds"

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@each_kind
def test_committed_file_compared_with_the_models_is_current(kind: KindNames) -> None:
    assert (CRDS / f"{kind.plural}.yaml").read_text() == render(kind)


def test_crds_folder_listed_holds_nothing_else() -> None:
    assert {path.stem for path in CRDS.iterdir()} == {kind.plural for kind in KINDS}


@each_kind
def test_crd_measured_is_below_100_kb(kind: KindNames) -> None:
    assert len(render(kind).encode()) < 100_000


@each_kind
def test_every_field_explained_has_a_description(kind: KindNames) -> None:
    fields = _schema(kind)["properties"]

    undescribed = [
        path
        for part in ("spec", "status")
        for path, field in _fields(fields[part], part)
        if not field.get("description")
    ]

    assert undescribed == []


@each_kind
def test_status_read_has_no_defaults(kind: KindNames) -> None:
    status = _schema(kind)["properties"]["status"]

    assert [path for path, field in _fields(status, "status") if "default" in field] == []


@pytest.mark.parametrize(
    ("kind", "want"),
    [
        (
            "WorkPackage",
            "Phase Progress Current Reason Cost Age; Class Branch Duration Message",
        ),
        (
            "Subtask",
            "ID Marker Phase Reason Attempts Duration Cost Started; Title Commit Message",
        ),
        ("AgentClass", "Adapter Model Image Ready Age; "),
    ],
)
def test_columns_listed_are_the_documented_ones_and_the_wide_ones_come_last(
    kind: str, want: str
) -> None:
    columns = build_crd(_kind(kind))["spec"]["versions"][0]["additionalPrinterColumns"]

    names = [" ".join(c["name"] for c in columns if c.get("priority", 0) == n) for n in (0, 1)]
    assert "; ".join(names) == want


@each_kind
def test_paths_of_columns_and_selectors_looked_up_exist(kind: KindNames) -> None:
    version = build_crd(kind)["spec"]["versions"][0]
    shown = [*version["additionalPrinterColumns"], *version["selectableFields"]]
    # A condition is picked from the list by its type.
    paths = [re.sub(r"\[\?.*?\]", "[]", item["jsonPath"]) for item in shown]

    known = {f".{path}" for path, _ in _fields(_schema(kind), "")}

    assert {path for path in paths if not path.startswith(".metadata.")} <= known


def test_subtask_described_says_that_only_the_operator_writes_it() -> None:
    assert "Only the operator writes it" in _schema(_kind("Subtask"))["description"]


@pytest.mark.parametrize(
    ("model", "manifest"),
    [
        pytest.param(WorkPackage, minimal_package(), id="minimal package"),
        pytest.param(WorkPackage, examples("work_package")[0], id="full package"),
        pytest.param(AgentClass, minimal_class(), id="minimal class"),
        pytest.param(AgentClass, examples("agent_class")[0], id="full class"),
    ],
)
def test_defaults_of_the_crd_filled_in_equal_those_of_the_models(
    model: type[WorkPackage] | type[AgentClass], manifest: Manifest
) -> None:
    kind = next(kind for kind in KINDS if kind.model is model)
    spec = _schema(kind)["properties"]["spec"]

    filled = changed(manifest, {"spec": _defaulted(spec, manifest["spec"])})
    by_model = model.model_validate(manifest)

    assert model.model_validate(filled) == by_model
    assert _without_empties(_texts(filled["spec"])) == _without_empties(
        by_model.to_manifest()["spec"]
    )


entry_fields = st.fixed_dictionaries(
    {},
    optional={
        "title": st.sampled_from(["", "Title"]),
        "epic": st.sampled_from(["1", "2"]),
        "files": st.lists(st.sampled_from(["a/**", "b.py"]), unique=True),
        "maxNewFiles": st.integers(0, 10),
        "verify": st.fixed_dictionaries(
            {"command": st.just(["true"])}, optional={"timeoutSeconds": st.integers(1, 9)}
        ),
        "skip": st.booleans(),
        "revision": st.integers(0, 3),
        "revisionReason": st.sampled_from(["Rejected", "Hallucination"]),
    },
)
spec_fields = st.fixed_dictionaries(
    {"spec.subtasks": st.lists(entry_fields, min_size=1, max_size=4)},
    optional={
        "spec.context": st.fixed_dictionaries(
            {}, optional={"mode": st.just("Persistent"), "resetInterval": st.integers(0, 25)}
        ),
        "spec.episode": st.fixed_dictionaries({}, optional={"maxTurns": st.integers(1, 9)}),
        "spec.parallelism": st.integers(1, 4),
        "spec.budget": st.fixed_dictionaries(
            {}, optional={"maxCostUSD": st.sampled_from(["0.5", "5.00"])}
        ),
        "spec.setup": st.just({"command": ["make"]}),
    },
)


@settings(deadline=None)
@given(spec_fields)
def test_any_package_filled_in_by_the_crd_equals_the_parsed_one(changes: dict[str, Any]) -> None:
    items = [entry(f"T{n}", **fields) for n, fields in enumerate(changes["spec.subtasks"])]
    manifest = changed(minimal_package(), changes | {"spec.subtasks": items})
    spec = _schema(_kind("WorkPackage"))["properties"]["spec"]

    filled = changed(manifest, {"spec": _defaulted(spec, manifest["spec"])})

    parsed = WorkPackage.model_validate(manifest)
    assert WorkPackage.model_validate(filled) == parsed
    assert WorkPackage.model_validate(parsed.to_manifest()) == parsed


def test_command_run_on_an_empty_folder_writes_every_kind(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 0

    written = [yaml.safe_load(path.read_text()) for path in sorted(tmp_path.iterdir())]
    assert [crd["spec"]["names"]["kind"] for crd in written] == [
        "AgentClass",
        "Subtask",
        "WorkPackage",
    ]
    assert main(["--check", str(tmp_path)]) == 0


def test_check_run_on_an_edited_file_names_it_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([str(tmp_path)])
    edited = tmp_path / "subtasks.yaml"
    edited.write_text("edited")

    assert main(["--check", str(tmp_path)]) == 1

    assert f"not current: {edited};" in capsys.readouterr().err
    assert edited.read_text() == "edited"


def test_command_run_on_a_missing_folder_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([str(tmp_path / "none")])

    assert exit_.value.code == 2
    assert "is not a directory" in capsys.readouterr().err


def _kind(name: str) -> KindNames:
    return next(kind for kind in KINDS if kind.name == name)


@functools.cache
def _schema(kind: KindNames) -> Manifest:
    version = build_crd(kind)["spec"]["versions"][0]
    schema: Manifest = version["schema"]["openAPIV3Schema"]
    return schema


def _fields(schema: Manifest, path: str) -> Iterator[tuple[str, Manifest]]:
    """Yield every property below `schema` with its dotted path."""
    for name, field in schema.get("properties", {}).items():
        place = f"{path}.{name}" if path else name
        yield place, field
        yield from _fields(field, place)
        yield from _fields(field.get("items", {}), f"{place}[]")


def _defaulted(schema: Manifest, value: Any) -> Any:
    """Fill in defaults as the API server does."""
    if isinstance(value, list):
        return [_defaulted(schema.get("items", {}), item) for item in value]
    if not isinstance(value, dict):
        return value
    fields = schema.get("properties", {})
    defaults = {name: field["default"] for name, field in fields.items() if "default" in field}
    return {
        name: _defaulted(fields.get(name, {}), item) for name, item in (defaults | value).items()
    }


def _without_empties(value: Any) -> Any:
    """Drop empty texts, lists and maps: absent means the same."""
    if isinstance(value, list):
        return [_without_empties(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: _without_empties(item) for name, item in value.items()}
    return {name: item for name, item in kept.items() if item not in ("", [], {})}


def _texts(spec: Manifest) -> Manifest:
    """Write whole-number quantities as text, as the models do."""
    result = dict(spec)
    if "resources" in spec:
        result["resources"] = {
            kind: {name: str(amount) for name, amount in amounts.items()}
            for kind, amounts in spec["resources"].items()
        }
    return result

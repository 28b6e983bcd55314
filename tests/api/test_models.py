"""The models read what users and the API server write, and write it back."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from afresh.api.agent_class import AgentClass, AgentClassSpec
from afresh.api.conditions import Condition
from afresh.api.meta import KubernetesObject
from afresh.api.package_status import WorkPackageStatus
from afresh.api.resources import TokenUsage, quantity_value
from afresh.api.rules import camel_case, stored_size
from afresh.api.subtask import Attempt, SubtaskObject
from afresh.api.work_package import WorkPackage
from afresh.contract.words import AdapterName, ContextMode, Marker
from tests.api.manifests import (
    changed,
    entry,
    examples,
    largest_package,
    minimal_class,
    minimal_package,
)

EXAMPLES = [
    pytest.param(model, manifest, id=f"{name} {number}")
    for model, name in (
        (WorkPackage, "work_package"),
        (AgentClass, "agent_class"),
        (SubtaskObject, "subtask"),
    )
    for number, manifest in enumerate(examples(name))
]


@pytest.mark.parametrize(("model", "manifest"), EXAMPLES)
def test_example_parsed_and_written_keeps_every_value(
    model: type[KubernetesObject], manifest: dict[str, Any]
) -> None:
    written = model.model_validate(manifest).to_manifest()

    assert _missing(_with_text_quantities(manifest), written) == []


@pytest.mark.parametrize(("model", "manifest"), EXAMPLES)
def test_example_written_and_parsed_again_is_equal(
    model: type[KubernetesObject], manifest: dict[str, Any]
) -> None:
    parsed = model.model_validate(manifest)

    assert model.model_validate(parsed.to_manifest()) == parsed


def test_minimal_package_parsed_has_the_documented_defaults() -> None:
    spec = WorkPackage.model_validate(minimal_package()).spec

    assert spec.context.mode is ContextMode.FRESH_PER_SUBTASK
    assert spec.context.reset_interval == 8
    assert spec.episode.model_dump() == {
        "timeout_seconds": 600,
        "max_turns": 20,
        "startup_timeout_seconds": 900,
    }
    assert spec.verify is not None
    assert (spec.verify.timeout_seconds, spec.verify.checkout) == (300, "Clean")
    assert (spec.max_episodes, spec.max_consecutive_failures) == (50, 3)
    assert (spec.parallelism, spec.suspend) == (1, False)
    assert (spec.subtasks[0].revision, spec.subtasks[0].max_new_files) == (0, 10)
    assert spec.repository.base_ref == "main"


def test_largest_package_parsed_keeps_all_subtasks() -> None:
    package = WorkPackage.model_validate(largest_package())

    assert len(package.spec.subtasks) == 200
    assert {len(item.depends_on) for item in package.spec.subtasks} == {16}


def test_package_without_branch_asked_for_it_names_itself() -> None:
    package = WorkPackage.model_validate(minimal_package("token-auth"))

    assert package.branch == "afresh/token-auth"


def test_package_with_branch_asked_for_it_answers_that() -> None:
    manifest = changed(minimal_package(), {"spec.repository.branch": "work"})

    assert WorkPackage.model_validate(manifest).branch == "work"


def test_subtask_with_its_own_verify_asked_for_it_answers_its_own() -> None:
    manifest = changed(
        minimal_package(),
        {"spec.subtasks": [entry("T1", verify={"command": ["own"]}), entry("T2")]},
    )
    package = WorkPackage.model_validate(manifest)

    commands = [package.verify_of(item).command for item in package.spec.subtasks]

    assert commands == [("own",), ("make", "test")]


def test_unknown_fields_of_a_newer_server_parsed_are_ignored() -> None:
    manifest = changed(minimal_package(), {"spec.fromTheFuture": 1, "metadata.selfLink": "x"})

    assert WorkPackage.model_validate(manifest) == WorkPackage.model_validate(minimal_package())


def test_parsed_object_changed_is_refused() -> None:
    package = WorkPackage.model_validate(minimal_package())

    with pytest.raises(ValidationError, match="frozen"):
        package.spec.suspend = True  # type: ignore[misc]  # the refusal is what is tested


def test_server_metadata_parsed_is_read() -> None:
    manifest = minimal_package()
    manifest["metadata"] |= {
        "namespace": "team-a",
        "uid": "u",
        "generation": 4,
        "resourceVersion": "17",
        "creationTimestamp": "2026-03-01T10:00:00Z",
        "deletionTimestamp": "2026-03-01T11:00:00Z",
        "annotations": {"a": "1"},
        "labels": {"l": "2"},
    }

    metadata = WorkPackage.model_validate(manifest).metadata

    assert (metadata.namespace, metadata.uid, metadata.generation) == ("team-a", "u", 4)
    assert metadata.resource_version == "17"
    assert metadata.creation_timestamp == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert metadata.deletion_timestamp == datetime(2026, 3, 1, 11, tzinfo=UTC)
    assert (metadata.annotations, metadata.labels) == ({"a": "1"}, {"l": "2"})


def test_free_form_pod_fields_parsed_and_written_are_untouched() -> None:
    manifest = examples("agent_class")[0]

    written = AgentClass.model_validate(manifest).to_manifest()

    assert written["spec"]["pod"]["tolerations"] == manifest["spec"]["pod"]["tolerations"]


def test_class_with_one_limit_parsed_keeps_the_other_defaults() -> None:
    manifest = changed(minimal_class(), {"spec.resources": {"limits": {"cpu": 4}}})

    resources = AgentClass.model_validate(manifest).spec.resources

    assert resources.limits.model_dump() == {
        "cpu": "4",
        "memory": "4Gi",
        "ephemeral_storage": "10Gi",
    }
    assert resources.requests.cpu == "100m"


@pytest.mark.parametrize(
    ("quantity", "want"),
    [
        ("2", "2"),
        ("500m", "0.5"),
        ("1.5", "1.5"),
        ("1k", "1000"),
        ("4Gi", str(4 * 1024**3)),
        ("1.5Mi", str(3 * 512 * 1024)),
        ("2E", str(2 * 10**18)),
    ],
)
def test_quantity_evaluated_is_its_number(quantity: str, want: str) -> None:
    assert quantity_value(quantity) == Decimal(want)


@pytest.mark.parametrize("text", ["", "4GB", "-1", "1e3", "m", "1 Gi", "1Gi\n", "٣"])
def test_text_that_is_no_quantity_evaluated_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        quantity_value(text)


@pytest.mark.parametrize(
    ("amount", "want"),
    [
        pytest.param(Decimal("0.42"), "0.42", id="cents"),
        pytest.param(Decimal("0.00000049"), "0", id="below a millionth"),
        pytest.param(Decimal("1.0000015"), "1.000002", id="rounded to a millionth"),
        pytest.param(Decimal("0.0357470"), "0.035747", id="no seventh place, be it a zero"),
        pytest.param(Decimal("1E+3"), "1000", id="no exponent"),
        pytest.param("5.00", "5.00", id="as the user wrote it"),
    ],
)
def test_cost_written_is_a_plain_decimal(amount: Decimal | str, want: str) -> None:
    usage = TokenUsage.model_validate({"costUSD": amount})

    assert usage.to_manifest()["costUSD"] == want


@settings(deadline=None)
@given(st.decimals(min_value=0, max_value=10**8, allow_nan=False, allow_infinity=False))
def test_any_cost_written_is_one_that_can_be_parsed(amount: Decimal) -> None:
    written = TokenUsage(cost_usd=amount).to_manifest()

    assert TokenUsage.model_validate(written) == TokenUsage(cost_usd=amount)


@settings(deadline=None)
@given(st.text(max_size=5000))
def test_message_of_any_length_stored_fits_the_status(message: str) -> None:
    condition = Condition(type="Ready", status="False", message=message)

    assert stored_size(condition.message) <= 2048
    assert condition.message == message or message.startswith(condition.message[:-1])


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("plain", 5, id="letters"),
        pytest.param("é€😀", 9, id="other letters in UTF-8"),
        pytest.param('a"b\\c', 7, id="quotes and backslashes as two"),
        pytest.param("\n\t\x01", 10, id="control characters by name or number"),
        pytest.param("<&>", 18, id="what HTML would read by number"),
        pytest.param("\u2028", 6, id="line separators by number"),
        pytest.param("\ud800", 1, id="half a pair as a question mark"),
    ],
)
def test_size_of_a_text_is_that_of_the_stored_json(text: str, want: int) -> None:
    assert stored_size(text) == want


def test_long_log_stored_keeps_its_end() -> None:
    attempt = Attempt(number=1, log_tail="x" * 5000 + "the error")

    assert len(attempt.log_tail) == 2048
    assert attempt.log_tail.endswith("the error")


def test_status_of_a_new_package_parsed_is_empty() -> None:
    assert WorkPackage.model_validate(minimal_package()).status == WorkPackageStatus()


def test_status_of_a_marker_written_is_as_the_plan_shows_it() -> None:
    manifest = changed(minimal_package(), {"status.subtasks": [{"id": "T001", "marker": "[!]"}]})

    package = WorkPackage.model_validate(manifest)

    assert package.status.subtasks[0].marker is Marker.NEEDS_REVIEW
    assert package.to_manifest()["status"]["subtasks"][0]["marker"] == "[!]"


def test_models_built_by_attribute_names_equal_parsed_ones() -> None:
    spec = AgentClassSpec(adapter=AdapterName.CLAUDE, image="a", pids_limit=600)

    assert spec == AgentClassSpec.model_validate(
        {"adapter": "Claude", "image": "a", "pidsLimit": 600}
    )


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("url", "url"),
        ("base_ref", "baseRef"),
        ("max_cost_usd", "maxCostUSD"),
        ("input_usd_per_million", "inputUSDPerMillion"),
    ],
)
def test_attribute_name_in_yaml_is_camel_case(name: str, want: str) -> None:
    assert camel_case(name) == want


def _missing(want: Any, found: Any, where: str = "") -> list[str]:
    """Return the places where `found` lacks or changes what `want` has."""
    if isinstance(want, dict) and isinstance(found, dict):
        return [
            place
            for key, value in want.items()
            for place in _missing(value, found.get(key), f"{where}.{key}")
        ]
    if isinstance(want, list) and isinstance(found, list) and len(want) == len(found):
        return [
            place
            for number, (item, other) in enumerate(zip(want, found, strict=True))
            for place in _missing(item, other, f"{where}[{number}]")
        ]
    return [] if want == found else [f"{where}: {want!r} became {found!r}"]


def _with_text_quantities(manifest: dict[str, Any]) -> dict[str, Any]:
    resources = manifest["spec"].get("resources", {})
    texts = {
        kind: {name: str(amount) for name, amount in amounts.items()}
        for kind, amounts in resources.items()
    }
    return changed(manifest, {"spec.resources": texts} if texts else {})

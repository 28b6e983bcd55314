"""`kubectl apply` refuses a bad manifest with a sentence that names the field."""

from typing import Any

import pytest

from tests.api.manifests import changed, entry, minimal_class, minimal_package
from tests.api.refusal import Refusal
from tests.api.refusals import REFUSALS
from tests.apiserver.kubectl import Kubectl

pytestmark = pytest.mark.apiserver


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.id)
def test_bad_manifest_applied_is_refused_naming_the_field(
    refusal: Refusal, kubectl: Kubectl
) -> None:
    answer = kubectl.run("apply", manifest=refusal.manifest())

    assert answer.returncode == 1
    assert refusal.field in answer.stderr
    assert refusal.sentence in answer.stderr


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        pytest.param({"spec.subtaks": []}, "spec.subtaks", id="subtaks"),
        pytest.param({"spec.verify.timeout": 5}, "spec.verify.timeout", id="timeout"),
        pytest.param(
            {"spec.subtasks": [entry("T1", depends_on=[])]},
            "spec.subtasks[0].depends_on",
            id="depends_on",
        ),
        pytest.param({"spec.resources.limits.gpu": 1}, "spec.resources.limits.gpu", id="gpu"),
    ],
)
def test_mistyped_field_applied_is_refused_naming_it(
    changes: dict[str, Any], want: str, kubectl: Kubectl
) -> None:
    answer = kubectl.run("apply", manifest=changed(minimal_package(), changes))

    assert answer.returncode == 1
    assert f'unknown field "{want}"' in answer.stderr


def test_mistyped_field_of_a_class_applied_is_refused_naming_it(kubectl: Kubectl) -> None:
    answer = kubectl.run("apply", manifest=changed(minimal_class(), {"spec.modell": "m"}))

    assert answer.returncode == 1
    assert 'unknown field "spec.modell"' in answer.stderr

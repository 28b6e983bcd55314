"""The models refuse what the CRDs refuse, and say so with the same sentence."""

from typing import Any

import pytest
from pydantic import ValidationError

from afresh.api.agent_class import AgentClass
from afresh.api.work_package import WorkPackage
from tests.api.acceptances import ACCEPTANCES
from tests.api.manifests import changed, minimal_package
from tests.api.refusal import Refusal
from tests.api.refusals import REFUSALS


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.id)
def test_bad_manifest_parsed_is_refused_with_the_sentence(refusal: Refusal) -> None:
    model = AgentClass if refusal.of_class else WorkPackage

    with pytest.raises(ValidationError) as refused:
        model.model_validate(refusal.manifest())

    assert refusal.sentence in str(refused.value)


def test_refusals_are_at_least_thirty_and_named_apart() -> None:
    names = [refusal.id for refusal in REFUSALS]

    assert len(names) >= 30
    assert len(set(names)) == len(names)


def test_manifest_of_another_kind_parsed_is_refused() -> None:
    with pytest.raises(ValidationError, match="kind"):
        WorkPackage.model_validate(REFUSALS[-1].manifest())


@pytest.mark.parametrize("changes", ACCEPTANCES)
def test_unusual_manifest_parsed_is_accepted(changes: dict[str, Any]) -> None:
    manifest = changed(minimal_package(), changes)

    package = WorkPackage.model_validate(manifest)

    assert package.metadata.name == manifest["metadata"]["name"]

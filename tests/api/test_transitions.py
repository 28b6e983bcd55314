"""What may not change: each such rule of the CRDs has a twin, used where no API server is."""

from collections.abc import Iterator

import pytest

from afresh.api.agent_class import AgentClass
from afresh.api.meta import ApiModel
from afresh.api.rules import Rule
from afresh.api.subtask import SubtaskObject
from afresh.api.transitions import refuse_change
from afresh.api.work_package import WorkPackage
from tests.api.edits import REPOSITORY_EDITS, edited_repository


def rules() -> Iterator[Rule]:
    waiting: list[type[ApiModel]] = [ApiModel]
    while waiting:
        model = waiting.pop()
        waiting += model.__subclasses__()
        yield from vars(model).get("RULES", ())


def test_rule_about_a_change_and_no_other_has_a_twin_for_two_objects():
    assert {WorkPackage, AgentClass, SubtaskObject}  # imported, so that their models are known
    found = list(rules())

    assert [rule for rule in found if (rule.allows is None) == ("oldSelf" in rule.cel)] == []
    assert sum(rule.allows is not None for rule in found) >= 1


@pytest.mark.parametrize("repository", REPOSITORY_EDITS)
def test_change_of_the_place_of_the_work_is_refused(repository: dict[str, str]):
    old = WorkPackage.model_validate(edited_repository())

    with pytest.raises(ValueError, match="create a new WorkPackage"):
        refuse_change(old, WorkPackage.model_validate(edited_repository(repository)))

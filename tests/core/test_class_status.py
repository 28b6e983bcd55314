"""What the operator concludes from a class alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from afresh.core.class_status import class_conditions
from tests.make import make_class

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def ready_of(**spec: Any) -> tuple[str, str, str]:
    (condition,) = class_conditions(make_class(**spec), NOW)
    return condition.status, condition.reason, condition.message


def test_class_that_packages_can_use_is_ready() -> None:
    assert ready_of() == ("True", "Accepted", "Packages may use this class.")


@pytest.mark.parametrize(
    ("spec", "want_reason", "want_words"),
    [
        pytest.param(
            {"modelAPI": "OpenAI"}, "NotSupported", "spec.modelAPI", id="an API it cannot speak"
        ),
        pytest.param(
            {"credentials": {"secretName": "key"}},
            "NotSupported",
            "spec.credentials.mode of the AgentClass to Environment",
            id="a gateway that it does not use",
        ),
        pytest.param(
            {
                "resources": {"limits": {"memory": "4Gi"}},
                "ceilings": {"limits": {"memory": "2Gi"}},
            },
            "AboveCeiling",
            "Raise spec.ceilings.limits.memory or lower spec.resources.limits.memory",
            id="limits above its own ceilings",
        ),
        pytest.param(
            {"pidsLimit": 900, "ceilings": {"pidsLimit": 800}},
            "AboveCeiling",
            "Raise spec.ceilings.pidsLimit or lower spec.pidsLimit",
            id="processes above its own ceiling",
        ),
    ],
)
def test_class_that_no_package_can_use_says_what_to_change(
    spec: dict[str, Any], want_reason: str, want_words: str
) -> None:
    status, reason, message = ready_of(**spec)

    assert (status, reason) == ("False", want_reason)
    assert want_words in message


def test_condition_keeps_its_time_until_its_status_changes() -> None:
    bad = make_class(modelAPI="OpenAI")
    (first,) = class_conditions(bad, NOW)
    later = NOW + timedelta(hours=1)

    def seen_with(agent_class: Any) -> Any:
        status = agent_class.status.model_copy(update={"conditions": (first,)})
        return agent_class.model_copy(update={"status": status})

    (same,) = class_conditions(seen_with(bad), later)
    (good,) = class_conditions(seen_with(make_class()), later)

    assert same == first
    assert good.last_transition_time == later

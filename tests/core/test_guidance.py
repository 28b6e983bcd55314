"""Guidance that tells of the past starts no agent, whoever wrote it and how."""

from typing import Any

import pytest

from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.core.planner import decide
from afresh.core.reasons import Reason
from tests.make import make_entry, make_package, make_record, make_seen, starts_of

PAST = "You already tried sessions; use JWT."

WRITTEN = [
    pytest.param({"guidance": ["Use JWT.", PAST]}, {}, "spec.guidance", id="for every subtask"),
    pytest.param({}, {"guidance": [PAST]}, "The guidance of subtask T001", id="for one subtask"),
]


@pytest.mark.parametrize(("spec", "entry", "field"), WRITTEN)
def test_guidance_that_tells_of_the_past_stalls_the_package_and_is_quoted(
    spec: dict[str, Any], entry: dict[str, Any], field: str
) -> None:
    decision = decide(make_seen(make_package([make_entry(**entry)], **spec)))

    assert (decision.phase, decision.reason) == (PackagePhase.STALLED, Reason.INVALID_SPEC)
    assert decision.message.startswith(f'{field} tells of the past ("You already")')
    assert starts_of(decision) == []


def test_guidance_about_the_code_starts_an_episode() -> None:
    directives = ["Log each failed login.", "Keep the previous token valid for a minute."]

    assert starts_of(decide(make_seen(make_package(guidance=directives)))) == ["T001"]


def test_guidance_of_a_package_that_is_done_is_nobodys_concern() -> None:
    done = make_record(phase=SubtaskPhase.DONE, reason="Verified")

    decision = decide(make_seen(make_package(guidance=[PAST]), [done]))

    assert decision.phase is PackagePhase.SUCCEEDED

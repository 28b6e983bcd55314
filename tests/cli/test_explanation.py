"""Why nothing happens: what the operator's own rules say of what a person can see."""

import re
from typing import Any

import pytest

from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.api.work_package import WorkPackage
from afresh.cli.look.explain import lines
from afresh.cli.look.explanation import Explanation, Missing, explain
from afresh.core.observed import Observed, SharedLimits
from afresh.core.policy.rules import RULES
from tests.cli.packages import gated_class
from tests.make import make_entry, make_episode, make_package, make_record, make_report, make_seen

OPERATOR = ("afresh-system/afresh-operator: 1 of 1 ready",)


def told_of(seen: Observed, **known: Any) -> Explanation:
    return explain(seen.package, seen, **{"operators": OPERATOR, **known})


def text_of(told: Explanation, width: int = 100) -> str:
    return "\n".join(text.plain.rstrip() for text in lines(told, width))


def test_package_that_may_start_tells_what_starts_and_by_which_rule():
    told = told_of(make_seen(make_package([make_entry("A"), make_entry("B")]), [make_record("A")]))

    assert told.next is not None
    assert told.next.rule == "subtask_ready"
    assert told.next.actions == ("start a fresh agent for A (attempt 1)",)
    assert told.next.status.phase == PackagePhase.RUNNING


def test_closed_gate_is_told_with_when_it_is_looked_at_again():
    agent_class = gated_class("2030-01-02T03:05:05Z")
    shared_limits = SharedLimits(gate=agent_class.status.gates[0], gate_class="command")

    told = told_of(make_seen(agent_class=agent_class, shared_limits=shared_limits))

    assert told.next is not None
    assert (told.next.rule, told.next.looks_again_seconds) == ("gate_closed", 60)
    assert told.remedy == "Nothing; the gate opens by itself."


def test_end_that_is_not_recorded_yet_is_told_as_what_is_recorded_next():
    running = make_record(phase=SubtaskPhase.RUNNING, attempts=1, reason="EpisodeRunning")
    ended = make_episode(report=make_report(), complete=True)

    told = told_of(make_seen(records=[running], episodes=(ended,)))

    assert told.next is not None
    assert told.next.actions[0] == "record that attempt 1 of T001 ended: Success"


def test_subtask_behind_one_that_waits_for_a_person_is_told_with_what_it_waits_for():
    package = make_package([make_entry("A"), make_entry("B", dependsOn=["A"])])
    blocked = make_record(
        "A", phase=SubtaskPhase.NEEDS_REVIEW, reason="Blocked", message="Which key?", attempts=1
    )

    told = told_of(make_seen(package, [blocked]))

    assert [(item.id, item.why) for item in told.waiting] == [
        ("A", "Blocked: Which key?"), ("B", "waits for A [!]"),
    ]  # fmt: skip
    assert "afresh guide" in told.waiting[0].remedy
    assert "[!] A Blocked: Which key?" in text_of(told)


def test_without_the_right_to_see_enough_nothing_is_foretold_and_what_is_missing_is_named():
    package = make_package(
        status={"phase": "Stalled", "reason": "Auth", "observedGeneration": 1, "subtasks": []}
    )
    missing = (Missing("pods in team-a", "what would be done next"),)

    told = explain(package, None, missing)

    assert told.next is None
    assert told.remedy.startswith("Correct the Secret")
    assert "Not seen  pods in team-a, which would show what would be done next" in text_of(told)
    assert "The next step depends on what you may not see." in text_of(told)


@pytest.mark.parametrize(
    ("operators", "want"),
    [
        pytest.param((), "Have the operator installed or started", id="none"),
        pytest.param(
            ("a/afresh: 0 of 1 ready",),
            "Have the operator installed or started",
            id="none is ready",
        ),
        pytest.param(OPERATOR, "Nothing.", id="one"),
        pytest.param(None, "Nothing.", id="not to be seen"),
    ],
)
def test_package_that_nobody_has_looked_at_asks_for_an_operator_where_there_is_none(
    operators: tuple[str, ...] | None, want: str
):
    told = told_of(make_seen(), operators=operators)

    assert told.behind
    assert told.remedy.startswith(want)
    assert "The operator has not looked at the last change yet." in text_of(told)


def make_rested() -> WorkPackage:
    return make_package(
        status={
            "phase": "Suspended", "reason": "Suspended", "observedGeneration": 1,
            "conditions": [{"type": "Ready", "status": "False", "reason": "Suspended",
                            "message": "No episode starts while spec.suspend is true."}],
        },
        suspend=True,
    )  # fmt: skip


def test_explanation_reads_from_the_status_to_what_a_person_can_do():
    text = text_of(told_of(make_seen(make_rested(), [make_record()])))

    assert text == (
        "team-a/token-auth\n"
        "Status    Suspended: No episode starts while spec.suspend is true.\n"
        "Rule      suspended: The user has suspended the package; running episodes continue.\n"
        "Next      nothing to do\n"
        "Looks     when something changes\n"
        "To do     Set it to false to continue (afresh resume).\n"
        "Operator  afresh-system/afresh-operator: 1 of 1 ready"
    )


def test_explanation_as_json_has_the_same_facts_under_yaml_names():
    told = told_of(make_seen(make_rested(), [make_record()])).to_json()

    assert told["recorded"]["phase"] == "Suspended"
    assert told["next"]["rule"] == "suspended"
    assert told["next"]["looksAgainSeconds"] is None
    assert told["behind"] is False


def test_every_rule_says_in_one_line_what_it_finds():
    for rule in RULES:
        fact = (rule.__doc__ or "").strip()
        assert fact.endswith("."), rule.__name__
        # A reader of `afresh explain` has no list of the project's requirements.
        assert not re.search(r"\bS\d-\d", fact), rule.__name__


def test_no_line_is_wider_than_asked_for():
    seen = make_seen(make_package([make_entry(f"T{n}", dependsOn=["T0"] if n else [])
                                   for n in range(30)]))  # fmt: skip
    text = text_of(told_of(seen), 60)

    assert max(len(row) for row in text.splitlines()) <= 60
    assert "and 9 more" in text


EDITED = {"generation": 3, "managedFields": [
    {"manager": "kubectl", "time": "2030-01-02T03:02:00Z", "fieldsV1": {}},
    {"manager": "afresh", "time": "2030-01-02T03:04:00Z", "subresource": "status", "fieldsV1": {}},
]}  # fmt: skip


@pytest.mark.parametrize(
    ("operators", "want"),
    [
        pytest.param((), "there is no operator in this cluster", id="none is installed"),
        pytest.param(("a/afresh: 0 of 1 ready",), "no operator is ready", id="none is ready"),
        pytest.param(None, "has looked at the last change for 2m05s", id="it may not be seen"),
        pytest.param(
            ("a/afresh: 1 of 1 ready",), "none serves the namespace team-a", id="it serves others"
        ),
    ],
)
def test_a_package_that_no_operator_serves_is_said_to_be_so_first_and_with_what_to_do(
    operators: tuple[str, ...] | None, want: str
):
    told = told_of(make_seen(make_package(metadata=EDITED)), operators=operators)

    text = [item.plain for item in lines(told, 300)]

    assert want in told.unserved
    assert "kubectl get deploy -A" in told.unserved
    assert text[1] == f"Operator  {told.unserved}"
    assert "Looks     as soon as an operator runs" in text


def test_a_change_of_a_moment_ago_is_no_sign_that_nobody_serves_the_package():
    fresh = {"generation": 3, "creationTimestamp": "2030-01-02T03:03:55Z"}

    assert told_of(make_seen(make_package(metadata=fresh)), operators=None).unserved == ""


def test_the_work_of_a_package_that_succeeded_can_be_got_by_the_line_shown():
    status = {"phase": "Succeeded", "observedGeneration": 1, "branch": "afresh/token-auth"}

    told = told_of(make_seen(make_package(status=status)))

    want = "git fetch https://git.example.com/team/api.git afresh/token-auth"
    assert told.fetch == want
    assert any(want in item.plain for item in lines(told, 300))

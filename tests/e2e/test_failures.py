"""Agents that fail, each in its own way and for real: what is recorded, and what follows."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.e2e.team import STAMP, Team, message_of, plan_of, record_of

pytestmark = [pytest.mark.cluster, pytest.mark.story]

EAT = "python3 -c 'x = bytearray(1 << 30)'"
SMALL = {"limits": {"memory": "192Mi"}}


@dataclass(frozen=True)
class Case:
    """An agent that fails, and what its package says of it."""

    do: str
    want: str
    says: str
    spec: dict[str, Any] = field(default_factory=dict)


FAILURES = {
    "an agent that eats memory": Case(
        EAT, "OutOfMemory", "more memory than its limit", {"resources": SMALL}
    ),
    "an agent that survives what ate its memory and has done nothing": Case(
        f"{EAT} || true", "OutOfMemory", "more memory than its limit", {"resources": SMALL}
    ),
    "a verify that eats memory": Case(
        "stamp",
        "VerifyFailed",
        "raise spec.resources.limits.memory",
        {"resources": SMALL, "verify": {"command": ["/bin/sh", "-c", EAT]}},
    ),
    "an agent that sleeps": Case(
        "sleep 600", "Timeout", "timeoutSeconds", {"episode": {"timeoutSeconds": 2}}
    ),
    "an agent that sleeps and will not be woken": Case(
        "trap '' TERM; sleep 600 & wait; wait",
        "Timeout",
        "timeoutSeconds",
        {"episode": {"timeoutSeconds": 2}},
    ),
    "an agent that fills its home": Case(
        "fallocate -l 64M $HOME/big; sleep 600",
        "DiskFull",
        "wrote more than its limit",
        {"resources": {"limits": {"ephemeral-storage": "32Mi"}}},
    ),
    "an agent that fills a volume of its pod": Case(
        "fallocate -l 1200M /tmp/big; sleep 600",
        "DiskFull",
        "more disk than its limit",
        {"resources": {"limits": {"ephemeral-storage": "1Gi"}}},
    ),
    "an agent that ends with an error": Case("exit 3", "AgentError", "exit code 3"),
    "an agent that does nothing": Case("true", "NoChanges", "changed nothing"),
    "a verify that fails": Case(
        "stamp", "VerifyFailed", "exit code 1", {"verify": {"command": ["false"]}}
    ),
}


@pytest.mark.parametrize("case", FAILURES.values(), ids=FAILURES)
def test_an_agent_that_fails_for_the_last_time_is_skipped_and_the_package_goes_on(
    team: Team, case: Case
) -> None:
    spec = {"maxConsecutiveFailures": 1, **case.spec}
    dependent = {"prompt": STAMP, "dependsOn": ["T001"]}
    other = {"prompt": STAMP, "verify": {"command": ["true"]}}
    team.apply(team.package("p", f"Fail.\ndo: {case.do}", dependent, other, **spec))

    status = team.wait_for("NeedsReview")

    first, second, third = status["subtasks"]
    (attempt,) = team.attempts("T001")
    assert attempt["outcome"] == case.want
    assert case.says in attempt["message"]
    assert (first["marker"], first["reason"]) == ("[S]", "TooManyFailures")
    assert (first["attempts"], first["consecutiveFailures"]) == (1, 1)
    assert (second["marker"], second["attempts"]) == ("[ ]", 0)
    assert (third["marker"], third["attempts"]) == ("[x]", 1)
    assert (status["usage"]["episodes"], status["usage"]["transientRetries"]) == (2, 0)
    assert [review["id"] for review in status["reviews"]] == ["T001"]
    assert "T001" in message_of(status)
    assert ("Warning", case.want, "p-t001") in team.events()
    assert team.branch().commits() == [third["commit"]]
    assert team.branch().plan() == {"T001": "[S]", "T002": "[ ]", "T003": "[x]"}


def test_a_fork_bomb_harms_nobody_but_its_own_subtask(team: Team) -> None:
    bomb = "Fork.\ndo: bomb() { bomb & bomb; }; bomb"
    team.apply(team.package("bomb", bomb, pidsLimit=64, maxConsecutiveFailures=1))
    team.apply(team.package("p", *[STAMP] * 3))

    neighbour = team.wait_for("Succeeded")
    status = team.wait_for("NeedsReview", package="bomb")

    assert neighbour["usage"]["episodes"] == 3
    assert [item["attempts"] for item in neighbour["subtasks"]] == [1, 1, 1]
    (attempt,) = team.attempts("T001", package="bomb")
    assert attempt["outcome"] == "ProcessLimit"
    assert status["subtasks"][0]["marker"] == "[S]"


def test_an_agent_that_survives_what_ate_its_memory_and_does_its_work_succeeds(
    team: Team,
) -> None:
    team.apply(team.package("p", f"Stamp.\ndo: {EAT} || stamp", resources=SMALL))

    status = team.wait_for("Succeeded")

    assert status["usage"]["episodes"] == 1
    assert team.branch().subtasks() == ["T001"]


def test_a_subtask_that_fails_three_times_is_skipped_and_nothing_of_it_is_on_the_branch(
    team: Team,
) -> None:
    failing = {"prompt": STAMP, "verify": {"command": ["false"]}}
    team.apply(team.package("p", failing, STAMP))

    status = team.wait_for("NeedsReview")

    assert [item["marker"] for item in status["subtasks"]] == ["[S]", "[x]"]
    assert [item["number"] for item in team.attempts("T001")] == [1, 2, 3]
    assert record_of(status, "T001")["consecutiveFailures"] == 3
    assert team.branch().commits() == [record_of(status, "T002")["commit"]]
    assert team.branch().read("stamps.txt").count("\n") == 1
    assert team.branch().plan() == plan_of(status)


def test_an_agent_that_is_blocked_waits_for_a_person_and_the_others_go_on(team: Team) -> None:
    blocked = "mkdir -p .afresh/outbox; echo 'Which key signs?' >.afresh/outbox/blocked.md"
    dependent = {"prompt": STAMP, "dependsOn": ["T001"]}
    team.apply(team.package("p", f"Sign.\ndo: {blocked}", dependent, STAMP))

    status = team.wait_for("NeedsReview")

    assert [item["marker"] for item in status["subtasks"]] == ["[!]", "[ ]", "[x]"]
    assert record_of(status, "T001")["consecutiveFailures"] == 0
    (review,) = status["reviews"]
    assert (review["id"], review["reason"]) == ("T001", "Blocked")
    assert "Which key signs?" in review["message"]
    assert ("Warning", "Blocked", "p-t001") in team.events()
    assert "Which key signs?" in team.branch().read(".afresh/DISCOVERY.md")
    assert team.branch().plan() == plan_of(status)


def test_an_agent_out_of_its_scope_halts_the_package(team: Team) -> None:
    team.apply(team.package("p", {"prompt": STAMP, "files": ["README.md"]}, STAMP))

    status = team.wait_for("NeedsReview")

    assert [item["marker"] for item in status["subtasks"]] == ["[!]", "[ ]"]
    assert status["reviews"][0]["reason"] == "OutOfScope"
    assert "stamps.txt" in status["reviews"][0]["message"]
    assert status["usage"]["episodes"] == 1
    assert team.branch().plan() == plan_of(status)

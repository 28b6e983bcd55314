"""A package that is edited while it runs and after its end, and what the branch says of it."""

from typing import Any

import pytest

from tests.e2e.cluster import wait
from tests.e2e.team import STAMP, Team, plan_of, record_of

pytestmark = [pytest.mark.cluster, pytest.mark.story]


def test_a_package_edited_while_it_runs_does_what_its_last_edit_says(team: Team) -> None:
    bell = team.bell()
    first, doomed, last = _entries("T001", "T002", "T003")
    held = {"id": "T000", "prompt": bell.prompt()}
    team.apply(team.package("p", held, first, doomed, last))
    team.running_pod("T000")

    added = {"id": "T009", "prompt": "Say so.\ndo: echo added >added.txt"}
    changed = {**first, "prompt": "Say so.\ndo: echo changed >changed.txt"}
    team.apply(team.package("p", added, last, held, changed))
    wait("the child is gone", lambda: "p-t002" not in _children(team), seconds=180)
    bell.ring()
    status = team.wait_for("Succeeded")

    assert team.branch().subtasks() == ["T000", "T009", "T003", "T001"]
    assert team.branch().read("changed.txt") == "changed\n"
    assert [item["id"] for item in status["subtasks"]][:4] == ["T009", "T003", "T000", "T001"]
    assert status["progress"] == "4/4"
    assert status["usage"]["episodes"] == 4
    assert team.branch().plan() == dict.fromkeys(("T009", "T003", "T000", "T001"), "[x]")


def test_raising_a_revision_runs_a_subtask_again_and_an_older_manifest_changes_nothing(
    team: Team,
) -> None:
    older = team.package("p", STAMP, STAMP)
    team.apply(older)
    team.wait_for("Succeeded")

    team.afresh("retry", "p", "T001")
    again = team.wait_until("T001", observedRevision=1, marker="[x]")
    team.apply(older)
    final = team.wait_for_end()

    assert (again["attempts"], record_of(final, "T001")["attempts"]) == (2, 2)
    assert final["phase"] == "Succeeded"
    assert final["usage"]["episodes"] == 3
    assert record_of(final, "T001")["observedRevision"] == 1
    assert team.branch().subtasks() == ["T001", "T002", "T001"]


def test_a_person_who_removes_the_running_subtask_stops_its_agent(team: Team) -> None:
    team.apply(team.package("p", "Sleep.\ndo: sleep 600", STAMP))
    team.running_pod("T001")

    team.apply(team.package("p", {"id": "T002", "prompt": STAMP}))
    status = team.wait_for("Succeeded")

    assert status["progress"] == "1/1"
    assert _children(team) == ["p-t002"]
    assert team.branch().subtasks() == ["T002"]


def test_a_skip_by_a_person_is_on_the_branch_once_nothing_runs(team: Team) -> None:
    bell = team.bell()
    dependent = {"prompt": STAMP, "dependsOn": ["T002"]}
    blocked = "Ask.\ndo: mkdir -p .afresh/outbox; echo Why? >.afresh/outbox/blocked.md"
    team.apply(team.package("p", bell.prompt(), STAMP, dependent, blocked))
    team.running_pod("T001")

    team.afresh("skip", "p", "T002")
    bell.ring()
    asked = team.wait_for("NeedsReview")
    plan = team.branch().plan()
    team.afresh("skip", "p", "T004")
    status = team.wait_for("Succeeded")

    assert [item["marker"] for item in asked["subtasks"]] == ["[x]", "[S]", "[x]", "[!]"]
    assert plan == plan_of(asked)
    assert [item["marker"] for item in status["subtasks"]] == ["[x]", "[S]", "[x]", "[S]"]
    assert team.branch().plan() == plan_of(status)
    assert {record_of(status, name)["reason"] for name in ("T002", "T004")} == {"SkippedByUser"}
    assert team.branch().subtasks() == ["T001", "T003"]


def _entries(*ids: str) -> list[dict[str, Any]]:
    return [{"id": name, "prompt": STAMP} for name in ids]


def _children(team: Team) -> list[str]:
    children = team.cluster.api.items("subtasks", team.namespace)
    return sorted(child["metadata"]["name"] for child in children)

"""A long package: twelve subtasks by the real Claude Code."""

import pytest

from tests.e2e.team import Team, plan_of

pytestmark = [pytest.mark.cluster, pytest.mark.story(long=True)]

PATIENCE = 1800


def test_twelve_subtasks_by_claude_code_with_a_question_that_a_person_answers(team: Team) -> None:
    team.secret("model-key", **{"api-key": team.model_key})
    team.claude()
    tasks = [
        {
            "prompt": f"Say so.\ndemo-model: shell echo {number} > {number}.txt",
            "verify": {"command": ["test", "-s", f"{number}.txt"]},
        }
        for number in range(1, 13)
    ]
    tasks[6]["prompt"] = "Do what only a person can say."
    tasks[11]["dependsOn"] = ["T007"]
    team.apply(team.package("p", *tasks))

    asked = team.wait_for("NeedsReview", seconds=PATIENCE)
    team.afresh("guide", "p", "T007", "demo-model: shell echo 7 > 7.txt")
    status = team.wait_for("Succeeded", seconds=PATIENCE)

    assert [item["marker"] for item in asked["subtasks"]] == [
        *["[x]"] * 6, "[!]", *["[x]"] * 4, "[ ]"
    ]  # fmt: skip
    assert "this is another one" in asked["reviews"][0]["message"]
    assert status["usage"]["episodes"] == 13
    assert status["progress"] == "12/12"
    assert {item["commit"] for item in status["subtasks"]} == set(team.branch().commits())
    assert team.branch().plan() == plan_of(status)
    assert "this is another one" in team.branch().read(".afresh/DISCOVERY.md")

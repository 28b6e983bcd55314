"""Long packages: twelve subtasks by the real Claude Code, and as many subtasks as there may be."""

import json

import pytest

from tests.e2e.team import Team, plan_of

pytestmark = [pytest.mark.cluster, pytest.mark.story(long=True)]

MOST_SUBTASKS = 200
OBJECT_BYTES = 256 * 1024
PATIENCE = 1800


def test_two_hundred_subtasks_are_done_one_after_another_and_no_object_grows_large(
    team: Team,
) -> None:
    tasks = [
        {
            "prompt": f"Say so.\ndo: mkdir -p said; echo {number} >said/{number}.txt",
            "verify": {"command": ["test", "-s", f"said/{number}.txt"]},
        }
        for number in range(MOST_SUBTASKS)
    ]
    team.apply(team.package("p", *tasks, maxEpisodes=MOST_SUBTASKS + 50))

    status = team.wait_for("Succeeded", seconds=PATIENCE)

    assert status["progress"] == f"{MOST_SUBTASKS}/{MOST_SUBTASKS}"
    assert status["usage"]["episodes"] == MOST_SUBTASKS
    commits = [item["commit"] for item in status["subtasks"]]
    assert team.branch().commits() == commits
    assert team.branch().plan() == plan_of(status)
    api = team.cluster.api
    sizes = {
        f"{kind}/{item['metadata']['name']}": len(json.dumps(item))
        for kind in ("workpackages", "subtasks", "jobs", "pods")
        for item in api.items(kind, team.namespace)
    }
    assert {name: size for name, size in sizes.items() if size > OBJECT_BYTES} == {}


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

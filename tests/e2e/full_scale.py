"""As many subtasks as a package may have, one pod each: part of `make test-matrix`.

The name keeps it out of the daily run: it takes 5 minutes and more of two cores.
"""

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
    commits = [item.get("commit", "") for item in status["subtasks"]]
    assert team.branch().commits() == commits
    assert team.branch().plan() == plan_of(status)
    api = team.cluster.api
    sizes = {
        f"{kind}/{item['metadata']['name']}": len(json.dumps(item))
        for kind in ("workpackages", "subtasks", "jobs", "pods")
        for item in api.items(kind, team.namespace)
    }
    assert {name: size for name, size in sizes.items() if size > OBJECT_BYTES} == {}

"""One agent context for several subtasks: the model sees what came before, or it does not."""

import re
from collections.abc import Iterator

import pytest

from tests.e2e.servers import Server
from tests.e2e.team import Team

pytestmark = [pytest.mark.cluster, pytest.mark.story]

BRIEF = re.compile(r"asked, brief (\d+), turn 1:")

MODES = {
    "a fresh one for each subtask": ({"mode": "FreshPerSubtask"}, [1, 1, 1, 1, 1]),
    "one for each epic, two subtasks at most": (
        {"mode": "FreshPerEpic", "resetInterval": 2},
        [1, 2, 1, 1, 2],
    ),
    "one for all": ({"mode": "Persistent"}, [1, 2, 3, 4, 5]),
}


@pytest.mark.parametrize(("context", "want"), MODES.values(), ids=MODES)
def test_the_model_sees_the_subtasks_before_only_in_the_same_context(
    team: Team, context: dict[str, object], want: list[int]
) -> None:
    team.secret("model-key", **{"api-key": team.model_key})
    model = team.server("model")
    team.claude(endpoint=model.url)
    tasks = [
        {
            "prompt": f"Say so.\ndemo-model: shell echo {number} > {number}.txt",
            "epic": epic,
            "verify": {"command": ["test", "-s", f"{number}.txt"]},
        }
        for number, epic in enumerate("11122", start=1)
    ]
    team.apply(team.package("p", *tasks, context=context))

    status = team.wait_for("Succeeded", seconds=180)

    assert list(_briefs(model)) == want
    assert [item["marker"] for item in status["subtasks"]] == ["[x]"] * 5
    commits = [item["commit"] for item in status["subtasks"]]
    assert team.branch().commits() == commits
    attempts = [team.attempts(f"T{number:03}")[0] for number in range(1, 6)]
    assert {attempt["contextMode"] for attempt in attempts} == {context["mode"]}
    assert len({attempt["jobName"] for attempt in attempts}) == want.count(1)


def _briefs(model: Server) -> Iterator[int]:
    """How many briefs the context held at each subtask's first question."""
    for line in model.log():
        if found := BRIEF.search(line):
            yield int(found[1])

"""A person's words are a person's: whatever they tell, the agent has them as they are."""

from typing import Any

import pytest

from afresh.api.phases import PackagePhase
from afresh.core.decision import StartEpisode
from afresh.core.planner import decide
from tests.make import make_entry, make_package, make_seen

DIRECTIVES = [
    "You already tried sessions; use JWT.",
    "The endpoint isn't paginated yet: add pagination.",
    "We decided to use Postgres.",
    "Keep the behaviour as before.",
    "Remove the former implementation of the parser.",
]
PLACES = [
    pytest.param(lambda text: ({"guidance": [text]}, {}), id="for every subtask"),
    pytest.param(lambda text: ({}, {"guidance": [text]}), id="for one subtask"),
    pytest.param(lambda text: ({}, {"prompt": text}), id="in the prompt"),
]


@pytest.mark.parametrize("directive", DIRECTIVES)
@pytest.mark.parametrize("written", PLACES)
def test_words_of_a_person_start_the_episode_and_reach_it_as_they_are(
    written: Any, directive: str
) -> None:
    spec, entry = written(directive)

    decision = decide(make_seen(make_package([make_entry(**entry)], **spec)))

    (start,) = [item for item in decision.actions if isinstance(item, StartEpisode)]
    (task,) = start.order.tasks
    assert decision.phase is PackagePhase.RUNNING
    assert directive in (*start.order.guidance, *task.guidance, task.prompt)
